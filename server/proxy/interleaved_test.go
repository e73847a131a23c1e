//go:build unix

package proxy_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkInterleaved compares the ways as gateway.md 22 asks: in one run, in random order within each round, a second
// bare proxy showing the spread. It reports the added p50 and p99 over a direct call, and the processor time per call
// over that of a direct one, in which client and upstream are the same. Run it alone: -bench Interleaved -benchtime 5000x.
func BenchmarkInterleaved(b *testing.B) {
	body := fmt.Sprintf(benchAnswer, strings.Repeat("y", 850))
	answer := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
	names := []string{"direct", "bare", "again", "ours"}
	ways := benchWays(b, answer)
	ways["again"] = benchWays(b, answer)["bare"]
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	buf := make([]byte, 32<<10)
	took, spent := map[string][]time.Duration{}, map[string]time.Duration{}
	for b.Loop() {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			cpu, start := processorTime(b), time.Now()
			benchCall(b, client, ways[name], buf)
			took[name] = append(took[name], time.Since(start))
			spent[name] += processorTime(b) - cpu
		}
	}
	quantile := func(name string, percent int) float64 {
		slices.Sort(took[name])
		return float64(took[name][(len(took[name])-1)*percent/100].Microseconds())
	}
	for _, name := range []string{"bare", "again", "ours"} {
		b.ReportMetric(quantile(name, 50)-quantile("direct", 50), name+"-p50-µs")
		b.ReportMetric(quantile(name, 99)-quantile("direct", 99), name+"-p99-µs")
		b.ReportMetric(float64((spent[name]-spent["direct"]).Microseconds())/float64(b.N), name+"-cpu-µs")
	}
	b.ReportMetric(0, "ns/op") // the rounds mean nothing
}

// processorTime is what this process has used: all sides of the calls are in it.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
