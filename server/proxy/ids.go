package proxy

import (
	"strconv"
	"sync/atomic"
	"time"
)

// ids numbers calls: "call_" and the time in nanoseconds, in base 32 and of one length, so that sorting the texts sorts
// by time. No two are alike in one process, whatever the clock does.
type ids struct{ last atomic.Int64 }

func (i *ids) next(now time.Time) string {
	n := now.UnixNano()
	for {
		last := i.last.Load()
		n = max(n, last+1)
		if i.last.CompareAndSwap(last, n) {
			var room [24]byte
			return string(strconv.AppendInt(append(room[:0], "call_"...), n, 32)) // 12 digits from 2006 until 2106
		}
	}
}
