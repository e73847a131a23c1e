package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy/internal/meter"
	"chatwright.dev/tray/server/upstream"
)

var (
	errSwitched = errors.New("the upstream switched protocols")
	errNoStatus = errors.New("the upstream answered with a status that HTTP does not have")
	errLoop     = errors.New("the upstream is this server itself: name a model server with --upstream")
)

// failure is an answer of ours in place of the upstream's.
type failure struct {
	status  int // that the caller gets
	code    string
	message string
	outcome outcome
}

// outcome is how a call ended, for its record.
type outcome struct {
	status  int
	verdict protocol.Verdict
	text    string
	foreign bool // the text is the upstream's: fit for a record, not for a log
}

// fail answers for an upstream that gave no answer to pass on.
func (c *call) fail(err error) {
	f := c.explain(err)
	c.failure = &f
	if f.status == 0 {
		return
	}
	typ := httpx.TypeUpstream
	if f.status < http.StatusInternalServerError {
		typ = httpx.TypeInvalidRequest
	}
	httpx.WriteOpenAIError(c, f.status, f.message, typ, f.code)
}

func (c *call) explain(err error) failure {
	tooLarge, over := errors.AsType[*httpx.TooLargeError](err)
	switch {
	case over:
		return failure{http.StatusRequestEntityTooLarge, "request_too_large", tooLarge.Error(),
			outcome{status: http.StatusRequestEntityTooLarge, text: tooLarge.Error()}}
	case c.timedOut.Load():
		text := fmt.Sprintf("no answer from %s within %s", c.target.Name, c.proxy.cfg.Timeout)
		return failure{http.StatusGatewayTimeout, "upstream_timeout", text,
			outcome{verdict: protocol.VerdictUnreachable, text: text}}
	case c.in.Context().Err() != nil, errors.Is(c.bodyErr(), io.ErrUnexpectedEOF):
		return failure{outcome: gone}
	case c.bodyErr() != nil:
		text := c.bodyErr().Error()
		return failure{http.StatusBadRequest, "bad_request_body", text,
			outcome{status: http.StatusBadRequest, text: text}}
	case errors.Is(err, errSwitched):
		return failure{http.StatusBadGateway, "upstream_switched_protocols", err.Error(),
			outcome{status: c.status, verdict: protocol.VerdictUpstreamError, text: err.Error()}}
	case errors.Is(err, errNoStatus):
		return failure{http.StatusBadGateway, "upstream_bad_status", err.Error(),
			outcome{status: c.status, verdict: protocol.VerdictUpstreamError, text: err.Error()}}
	case errors.Is(err, errCoding):
		return failure{http.StatusBadGateway, "upstream_unknown_coding", err.Error(),
			outcome{status: c.status, verdict: protocol.VerdictUpstreamError, text: err.Error()}}
	case errors.Is(err, errLoop):
		return failure{http.StatusBadGateway, "upstream_is_this_server", err.Error(),
			outcome{verdict: protocol.VerdictUnreachable, text: err.Error()}}
	}
	text := c.target.Explain(err)
	if c.status != 0 {
		return failure{http.StatusBadGateway, "upstream_cut_short", text,
			outcome{status: c.status, verdict: protocol.VerdictTruncated, text: text}}
	}
	return failure{http.StatusBadGateway, "upstream_unreachable", text,
		outcome{verdict: protocol.VerdictUnreachable, text: text}}
}

func (c *call) bodyErr() error {
	if c.request == nil {
		return nil
	}
	return c.body.failure()
}

// gone is the outcome of a call whose caller left before the answer was whole.
var gone = outcome{status: protocol.StatusClientClosed, verdict: protocol.VerdictCancelled, text: "the caller left"}

// outcome judges a call that is over.
func (c *call) outcome(read meter.Reading) outcome {
	short := !c.events && c.bytesOut < c.length // whatever the end of the answer looked like
	broken := c.readErr != nil || c.writeErr != nil || short
	left := c.writeErr != nil || c.in.Context().Err() != nil
	out := outcome{status: c.status}
	switch {
	case c.failure != nil:
		return c.failure.outcome
	case c.status >= http.StatusBadRequest:
		out.verdict, out.text, out.foreign = protocol.VerdictUpstreamError, c.redact(read.Error), true
		if c.status == http.StatusServiceUnavailable && upstream.IsLoading(read.Error) {
			out.verdict = protocol.VerdictLoading
		}
		if out.text == "" {
			out.text, out.foreign = fmt.Sprintf("%s answered with status %d", c.target.Name, c.status), false
		}
	case read.Failed && (c.events || !read.Choices):
		out.verdict, out.text, out.foreign = protocol.VerdictStreamError, c.redact(read.Error), true
		if !c.streamed {
			out.verdict = protocol.VerdictUpstreamError // an error with the status of success
		}
		if out.text == "" {
			out.text, out.foreign = "the answer says that it is an error", false
		}
	case read.Done && (!broken || left):
		out.verdict = protocol.VerdictComplete // many clients leave as soon as they have read the end marker
	case left && !c.events && c.writeErr == nil && c.length > 0 && c.bytesOut == c.length:
		// The caller has all that was announced, and went before the upstream had hung up.
		out.verdict = protocol.VerdictComplete
	case broken && left:
		return gone
	case broken:
		out.verdict, out.text = protocol.VerdictTruncated, c.target.Explain(cmp.Or(c.readErr, io.ErrUnexpectedEOF))
		if c.timedOut.Load() {
			out.text = fmt.Sprintf("no whole answer from %s within %s", c.target.Name, c.proxy.cfg.Timeout)
		}
	case c.events && read.Events == 0:
		out.verdict, out.text = protocol.VerdictStreamError, "the event stream was empty"
	case c.events:
		out.verdict = protocol.VerdictNoDone
	default:
		out.verdict = protocol.VerdictComplete
	}
	return out
}

// redact takes the key of this call out of the upstream's words: some repeat the key that they refuse. A key that the
// bound on the text has cut off counts too.
func (c *call) redact(text string) string {
	_, sent, _ := strings.Cut(c.in.Header.Get("Authorization"), " ")
	for _, key := range []string{c.target.APIKey, strings.TrimSpace(sent)} {
		const telling = 8 // what is shorter tells nothing, and would blank out words
		if len(key) < telling {
			continue
		}
		text = strings.ReplaceAll(text, key, "[key]")
		for n := len(key) - 1; n >= telling; n-- {
			if cut, ok := strings.CutSuffix(text, key[:n]); ok {
				return cut + "[key]"
			}
		}
	}
	return text
}

// log says what went wrong. The upstream's words stay out of it: they may repeat what the caller sent.
func (c *call) log(record *protocol.Call, out outcome) {
	level := slog.LevelDebug
	switch out.verdict {
	case protocol.VerdictUnreachable, protocol.VerdictUpstreamError, protocol.VerdictStreamError, protocol.VerdictTruncated:
		level = slog.LevelWarn
	}
	text := out.text
	if out.foreign {
		text = ""
	}
	c.proxy.cfg.Log.LogAttrs(context.Background(), level, "call ended",
		slog.String("id", record.ID), slog.String("verdict", string(record.Verdict)), slog.Int("status", record.Status),
		slog.Int64("ms", record.LatencyMs), slog.String("upstream", record.Upstream), slog.String("reason", text))
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// round leaves two decimals. What is no number for JSON becomes 0, which is left out.
func round(rate float64) float64 {
	if math.IsNaN(rate) || math.IsInf(rate, 0) {
		return 0
	}
	return math.Round(rate*100) / 100
}
