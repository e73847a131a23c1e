package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"chatwright.dev/tray/server/protocol"
)

// maxModels bounds the figures per model. Names come from callers, so there may be as many as they like; the busiest
// are listed, and all count in the total.
const maxModels = 64

// sums are the figures of today and of the last seven days. They are read from the file once a day and then kept up
// with what is written, so that showing them costs no query.
type sums struct {
	known       bool
	changed     bool // since they were last published
	day         time.Time
	weekBegin   time.Time
	today, week tally
}

// holds reports whether now is still of the day that the sums are of.
func (s *sums) holds(now time.Time) bool { return s.day.Equal(midnight(now)) }

func (s *sums) read(ctx context.Context, db *database, now time.Time) error {
	s.day, s.weekBegin = midnight(now), weekBegin(now)
	today, err := db.tally(ctx, s.day)
	if err != nil {
		return err
	}
	week, err := db.tally(ctx, s.weekBegin)
	if err != nil {
		return err
	}
	s.today, s.week = today, week
	s.known, s.changed = true, true
	return nil
}

// add counts calls that were written. One that arrived before midnight and ended after it is not of today.
func (s *sums) add(calls []protocol.Call, failed func(protocol.Verdict) bool) {
	if !s.known {
		return // they are in the file, from which they will be read
	}
	for _, c := range calls {
		one := protocol.ModelTotals{Model: c.Model, Calls: 1, PromptTokens: c.PromptTokens, CompletionTokens: c.CompletionTokens}
		if failed(c.Verdict) {
			one.Errors = 1
		}
		if !c.Timestamp.Before(s.weekBegin) {
			s.week.add(one)
		}
		if !c.Timestamp.Before(s.day) {
			s.today.add(one)
		}
	}
	s.changed = true
}

// A tally is a Totals that can grow.
type tally struct {
	all    protocol.ModelTotals
	models map[string]protocol.ModelTotals // at most maxModels
}

func (t *tally) add(m protocol.ModelTotals) {
	plus(&t.all, m)
	of, have := t.models[m.Model]
	if !have && len(t.models) >= maxModels {
		return
	}
	if t.models == nil {
		t.models = map[string]protocol.ModelTotals{}
	}
	plus(&of, m)
	of.Model = m.Model
	t.models[m.Model] = of
}

func plus(sum *protocol.ModelTotals, m protocol.ModelTotals) {
	sum.Calls += m.Calls
	sum.Errors += m.Errors
	sum.PromptTokens += m.PromptTokens
	sum.CompletionTokens += m.CompletionTokens
}

// totals lists the busiest model first.
func (t *tally) totals() *protocol.Totals {
	sum := &protocol.Totals{
		Calls: t.all.Calls, Errors: t.all.Errors,
		PromptTokens: t.all.PromptTokens, CompletionTokens: t.all.CompletionTokens,
	}
	for _, m := range t.models {
		sum.Models = append(sum.Models, m)
	}
	slices.SortFunc(sum.Models, func(a, b protocol.ModelTotals) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Model, b.Model))
	})
	return sum
}

// midnight is when the day of t began, where t is.
func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// tomorrow and weekBegin count days and not hours: a day has 23 or 25 of them where clocks are changed.
func tomorrow(t time.Time) time.Time { return midnight(t.AddDate(0, 0, 1)) }

func weekBegin(t time.Time) time.Time { return midnight(t.AddDate(0, 0, -6)) }
