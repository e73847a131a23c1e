package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"

	"chatwright.dev/tray/server/protocol"
)

// maxProbeAnswer is how much of the answer to a probe is read: enough for a long list of models, so that the
// connection can be used again.
const maxProbeAnswer = 1 << 20

// The numbers of Windows for a refused and a reset connection. syscall's POSIX names have others there, which no
// system call returns; here they match nothing.
const (
	errWinRefused = syscall.Errno(10061)
	errWinReset   = syscall.Errno(10054)
)

// WrongBase ends the detail of an upstream that answers, but hardly as a model server.
const WrongBase = "is the base URL right?"

// Probe asks t once whether it answers: GET {base}/models. The caller bounds the time through ctx. The detail says why
// an upstream is not ok, or what is odd about one that is; it is "" when there is nothing to say.
func Probe(ctx context.Context, t *Target) (protocol.Reach, string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL("/models").String(), nil)
	if err != nil {
		return protocol.ReachDown, err.Error()
	}
	r.Header.Set("Accept", "application/json")
	if t.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+t.APIKey)
	}
	answer, err := t.Transport.RoundTrip(r) // not a client: a redirect is an answer
	if err != nil {
		return protocol.ReachDown, t.Explain(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxProbeAnswer))
	if err != nil {
		return protocol.ReachDown, t.Explain(err)
	}
	return judge(answer.StatusCode, body)
}

func judge(status int, body []byte) (protocol.Reach, string) {
	switch {
	case status == http.StatusServiceUnavailable && IsLoading(string(body)):
		return protocol.ReachLoading, "the model is loading"
	case status >= 500:
		return protocol.ReachDown, fmt.Sprintf("answers with status %d", status)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return protocol.ReachOK, fmt.Sprintf("wants an API key (status %d)", status)
	case status >= 300:
		return protocol.ReachOK, fmt.Sprintf("answers, but with status %d to /models: %s", status, WrongBase)
	case !json.Valid(bytes.TrimSpace(body)):
		return protocol.ReachOK, "answers, but not with a list of models: " + WrongBase
	default:
		return protocol.ReachOK, ""
	}
}

// IsLoading says whether the text of a 503 means that the model is being loaded, as llama.cpp words it.
func IsLoading(text string) bool {
	return strings.Contains(strings.ToLower(text), "loading model")
}

// Explain says in words why no answer was had from t: which address, and for a refused connection what usually listens
// there.
func (t *Target) Explain(err error) string {
	addr := t.address()
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, errWinRefused):
		return "connection refused at " + addr + usually(t.port())
	case errors.As(err, &dns):
		return "no address found for " + t.BaseURL.Hostname()
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to " + addr
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return "no answer from " + addr + " in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, errWinReset), errors.Is(err, syscall.EPIPE):
		return addr + " closed the connection before its answer was whole"
	default:
		return "no answer from " + addr + ": " + bound(unquoted(err.Error()))
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// quoted is what errors of net/http repeat of an answer that they cannot read. What is no model server may have sent the
// request back, key and query string included.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?`)

func unquoted(text string) string { return quoted.ReplaceAllLiteralString(text, `"…"`) }

// bound keeps the text of a foreign error short.
func bound(text string) string {
	const most = 160
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// address is the host and port that connections go to.
func (t *Target) address() string {
	return net.JoinHostPort(t.BaseURL.Hostname(), t.port())
}

func (t *Target) port() string {
	switch port := t.BaseURL.Port(); {
	case port != "":
		return port
	case t.BaseURL.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// usually says which model servers have port as their default, for the end of a sentence; "" when none is known.
func usually(port string) string {
	names := UsuallyAt(port)
	switch {
	case names == "":
		return ""
	case strings.Contains(names, " and "):
		return "; " + names + " usually listen there"
	}
	return "; " + names + " usually listens there"
}

// UsuallyAt names the model servers that have port as their default. It is a pointer for a person and claims nothing
// about what is there now; "" when none is known.
func UsuallyAt(port string) string {
	switch port {
	case "11434":
		return "Ollama"
	case "1234":
		return "LM Studio"
	case "8080":
		return "llama.cpp, LocalAI, MLX and RamaLama"
	case "9931":
		return "llama.cpp"
	case "8000":
		return "vLLM and Lemonade"
	case "30000":
		return "SGLang"
	case "1337":
		return "Jan"
	case "4891":
		return "GPT4All"
	case "5000":
		return "text-generation-webui and TabbyAPI"
	case "13305":
		return "Lemonade"
	case "12434":
		return "Docker Model Runner"
	case "5001":
		return "KoboldCpp"
	default:
		return ""
	}
}
