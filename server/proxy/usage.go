package proxy

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"chatwright.dev/tray/server/internal/coding"
	"chatwright.dev/tray/server/proxy/internal/meter"
	"chatwright.dev/tray/server/proxy/internal/usage"
)

// askForUsage has the upstream say the usage of a stream whose caller did not ask for it. The one member is added to the
// body, and the chunk that it brings is taken out of the answer again. The members "usage": null that some servers then
// add to every other chunk stay: events pass as they came, or not at all. What a server that was not asked says of
// itself with the last choice, it may now say in that chunk alone.
//
// Only a body that is held whole is touched, as usage.Ask says. The caller's Accept-Encoding does not go up with it:
// nearly every client sends one, so leaving those alone would leave all alone, and a chunk cannot be taken out of a
// compressed stream without packing it anew. A server that compresses all the same is passed on as it is.
//
// All of this is between the proxy and the upstream: whoever listens to the call hears the caller's own request, and the
// answer as the caller gets it. A target that knows calls by their bytes is not asked.
func (c *call) askForUsage() {
	if c.target.Verbatim || !c.body.whole || len(c.body.head) > keepBody || !c.body.streamed() || c.proxy.refusal.has(c.target.BaseURL.String()) {
		return
	}
	for _, digest := range []string{"Content-Digest", "Repr-Digest", "Digest", "Content-Md5"} {
		if c.in.Header.Get(digest) != "" {
			return // it would not be true any more
		}
	}
	if asks, ok := usage.Ask(c.body.head); ok {
		c.body.asks = asks
	}
}

// asking returns the call with the question in it. What the caller said is read all the same, for whoever listens to
// that.
func (c *call) asking(r *http.Request) (*http.Request, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil { // it is in memory
		return nil, err
	}
	up := r.Clone(r.Context())
	up.Header.Set("Accept-Encoding", coding.None)
	up.Body, up.ContentLength = io.NopCloser(bytes.NewReader(c.body.asks)), int64(len(c.body.asks))
	return up, nil
}

// maxRefusal is how much is read of an error to see whether it is about the option.
const maxRefusal = 64 << 10

// unask returns the call r as the caller made it, when the answer refuses the option. Any other answer is as if it had
// not been read.
func (c *call) unask(r *http.Request, answer *http.Response) *http.Request {
	if !isRefusal(answer) {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	// What cannot be read may be a refusal. It is not for the caller to bear.
	coded := coding.Of(answer.Header) != ""
	if err != nil || !coded && !bytes.Contains(text, []byte("stream_options")) && !bytes.Contains(text, []byte("include_usage")) {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(text), answer.Body), answer.Body}
		return nil
	}
	_ = answer.Body.Close()
	c.body.asks, c.refused = nil, true
	again := *r
	again.Body = c.body.reader(nil)
	return &again
}

// isRefusal says whether an answer may refuse the option.
func isRefusal(answer *http.Response) bool {
	return answer.StatusCode == http.StatusBadRequest || answer.StatusCode == http.StatusUnprocessableEntity
}

// learn remembers an upstream that takes a call without the option and did not with it. One that refuses both has
// something else against the call.
func (c *call) learn(answer *http.Response) {
	if c.refused && !isRefusal(answer) && c.proxy.refusal.add(c.target.BaseURL.String()) {
		c.proxy.cfg.Log.Info("the upstream refuses to say the usage of streams, and is not asked for it any more",
			slog.String("upstream", c.target.Name))
	}
}

// withoutUsage takes the chunk that was asked for out of an event stream.
func withoutUsage(answer *http.Response, format meter.Format) {
	if format != meter.EventStream || coding.Of(answer.Header) != "" {
		return
	}
	answer.Body = usage.NewReader(answer.Body)
	answer.ContentLength = -1
	answer.Header.Del("Content-Length")
}

// refusals are the base URLs of upstreams that refuse the option. They are as many as the user has named.
type refusals struct {
	mu    sync.Mutex
	bases map[string]bool
}

func (r *refusals) has(base string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bases[base]
}

// add says whether it is new.
func (r *refusals) add(base string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bases[base] {
		return false
	}
	if r.bases == nil {
		r.bases = make(map[string]bool)
	}
	r.bases[base] = true
	return true
}
