package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"
)

// The paths, by their place in each list of figures.
const (
	direct = iota
	bare
	twin
	ours
	pathCount
)

// figures holds one figure of each path.
type figures [pathCount]float64

// table is what a run prints.
type table struct{ w *tabwriter.Writer }

const unknown = "–"

func newTable(out io.Writer) *table {
	t := &table{tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)}
	t.cells("", "direct", "bare", "bare again", "ours", "again/bare", "ours/bare")
	return t
}

func (t *table) cells(cells ...string) {
	for _, cell := range cells {
		_, _ = fmt.Fprint(t.w, cell, "\t")
	}
	_, _ = fmt.Fprintln(t.w)
}

// whole prints figures as they are.
func (t *table) whole(name, format string, f figures) {
	cells := []string{name}
	for _, v := range f {
		if v == 0 {
			cells = append(cells, unknown)
		} else {
			cells = append(cells, fmt.Sprintf(format, v))
		}
	}
	t.cells(append(cells, ratio(f[twin], f[bare]), ratio(f[ours], (f[bare]+f[twin])/2))...)
}

// added prints what each proxy adds to the direct call.
func (t *table) added(name string, f figures) {
	cells := []string{name, fmt.Sprintf("%.0f", f[direct])}
	for _, v := range f[bare:] {
		cells = append(cells, fmt.Sprintf("%+.0f", v-f[direct]))
	}
	again, other, us := f[twin]-f[direct], f[bare]-f[direct], f[ours]-f[direct]
	// What two equal proxies differ by is noise, and so is what is a small part of the direct call.
	noise := max(math.Abs(again-other), f[direct]/50)
	if min(again, other, us) <= noise {
		t.cells(append(cells, unknown, unknown)...)
		return
	}
	t.cells(append(cells, ratio(again, other), ratio(us, (again+other)/2))...)
}

// pair prints a figure of memory, which is looked at for one proxy of each kind. Less than half a unit is noise.
func (t *table) pair(name, format string, bare, ours float64) {
	to := unknown
	if bare >= 0.5 {
		to = ratio(ours, bare)
	}
	t.cells(name, "", fmt.Sprintf(format, bare), "", fmt.Sprintf(format, ours), "", to)
}

func ratio(a, b float64) string {
	if a <= 0 || b <= 0 {
		return unknown
	}
	return fmt.Sprintf("%.2f", a/b)
}

func quantile(times []time.Duration, q float64) float64 {
	slices.Sort(times)
	return micros(times[min(int(q*float64(len(times))), len(times)-1)])
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
