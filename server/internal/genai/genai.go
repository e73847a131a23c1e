// Package genai holds what the OpenTelemetry conventions for generative AI (of the semantic conventions 1.41) say of a
// call, for all that speak by them: names, words, and the bounds of histograms.
package genai

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"chatwright.dev/tray/server/protocol"
)

// MaxModels is how many models are told apart; the rest is protocol.OtherModels.
const MaxModels = 64

// maxName bounds a name, in bytes.
const maxName = 200

// The bounds of each histogram that the conventions advise, in seconds and tokens. They must not be written to.
var (
	DurationBounds   = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	TokenBounds      = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	FirstChunkBounds = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
)

// MaxBounds is the length of the longest of them.
const MaxBounds = 16

// RequestModel is the model that the caller asked for: what calls are told apart by, since the same model may answer
// to more than one name, and differently each time. Where the caller named none it is the one that answered.
func RequestModel(c *protocol.Call) string {
	if c.RequestModel != "" {
		return Name(c.RequestModel)
	}
	return Name(c.Model)
}

// Name bounds a name, and leaves it as it is where it is short and valid. Two names that look the same become the
// same: a label may not come twice.
func Name(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	if utf8.ValidString(name) {
		return name
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// otherError is the conventions' own word for an error that has no other.
const otherError = "_OTHER"

// ErrorType says in a word of few how a call went wrong; "" if it did not. An error that somebody answered with has
// its status for a word. A caller who left and a model that still loads have one too, for their times are not the
// model's.
func ErrorType(c *protocol.Call) string {
	switch c.Verdict {
	case protocol.VerdictTruncated, protocol.VerdictCancelled, protocol.VerdictStreamError, protocol.VerdictLoading, protocol.VerdictUnreachable:
		return string(c.Verdict)
	case protocol.VerdictComplete, protocol.VerdictNoDone:
		return ""
	}
	switch known := http.StatusText(c.Status) != ""; {
	case known && c.Status >= http.StatusBadRequest:
		return strconv.Itoa(c.Status)
	case c.Verdict == protocol.VerdictUpstreamError:
		return otherError
	}
	return "" // a refusal of ours has a status and no verdict; so has a call that another companion measured
}

// ServerAddress takes the name of an upstream apart where it is an address: "localhost:11434", "[::1]:8080". What is
// not stays whole, so that two names never become one.
func ServerAddress(upstream string) (address, port string) {
	host, port, err := net.SplitHostPort(upstream)
	bracketed := strings.HasPrefix(upstream, "[")
	if err != nil || port == "" || bracketed != strings.Contains(host, ":") {
		return upstream, ""
	}
	return host, port
}
