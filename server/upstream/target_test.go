package upstream_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for given, want := range map[string]struct{ url, name string }{
		"http://localhost:11434/v1":         {"http://localhost:11434/v1", "localhost:11434"},
		"http://localhost:11434/v1/":        {"http://localhost:11434/v1", "localhost:11434"},
		"  http://localhost:11434  ":        {"http://localhost:11434", "localhost:11434"},
		"https://api.example.com/v1":        {"https://api.example.com/v1", "api.example.com"},
		"HTTP://Example.com":                {"http://Example.com", "Example.com"},
		"http://0.0.0.0:8080/v1":            {"http://127.0.0.1:8080/v1", "127.0.0.1:8080"}, // gateway.md 13
		"http://[::]:8080/v1":               {"http://[::1]:8080/v1", "[::1]:8080"},
		"http://[0:0:0:0:0:0:0:0]/v1":       {"http://[::1]/v1", "[::1]"},
		"http://[::ffff:0.0.0.0]:1/v1":      {"http://127.0.0.1:1/v1", "127.0.0.1:1"},
		"http://[2001:db8::1]:80/v1":        {"http://[2001:db8::1]:80/v1", "[2001:db8::1]:80"},
		"http://host:/v1":                   {"http://host/v1", "host"},
		"http://localhost:1/with%2Fslash":   {"http://localhost:1/with%2Fslash", "localhost:1"},
		"demo":                              {"demo", "Demo model"},
		" demo ":                            {"demo", "Demo model"},
		"http://demo":                       {"http://demo", "demo"},
		"http://localhost:12434/engines/v1": {"http://localhost:12434/engines/v1", "localhost:12434"},
	} {
		target, err := upstream.Parse(given)
		if err != nil {
			t.Errorf("%q: %v", given, err)
			continue
		}
		if target.String() != want.url || target.Name != want.name || target.Demo != (want.url == "demo") {
			t.Errorf("%q: got %s named %q, demo %v; want %s, %q", given, target, target.Name, target.Demo, want.url, want.name)
		}
		if target.Transport == nil || target.APIKey != "" {
			t.Errorf("%q: got transport %v, key %q", given, target.Transport, target.APIKey)
		}
	}
}

// companion.md: an upstream without a scheme, with userinfo or a query is refused, with a hint; and nothing secret in
// it is repeated.
func TestParseRefuses(t *testing.T) {
	for given, want := range map[string]struct{ says, way string }{
		"":                              {"empty", "http://localhost:11434/v1"},
		"localhost:11434/v1":            {"no scheme", "write http://localhost:11434/v1"},
		"localhost":                     {"no scheme", "write http://localhost"},
		"//localhost:11434":             {"no scheme", "write http://localhost:11434"},
		"127.0.0.1:11434":               {"no scheme", "write http://127.0.0.1:11434"},
		"[::1]:11434":                   {"no scheme", "write http://[::1]:11434"},
		"Demo":                          {"no scheme", ""},
		"SECRET@localhost:1":            {"no scheme", "http://localhost:11434/v1"},
		"ftp://localhost/v1":            {`"ftp"`, "http://localhost:11434/v1"},
		"unix:///run/x.sock":            {`"unix"`, "http://localhost:11434/v1"},
		"http://":                       {"no host", "http://localhost:11434/v1"},
		"http:///v1":                    {"no host", "http://localhost:11434/v1"},
		"http://:11434/v1":              {"no host", "http://localhost:11434/v1"},
		"http://user:SECRET@host/v1":    {"user name or password", "before the @"},
		"http://SECRET@host/v1":         {"user name or password", "before the @"},
		"http://@host/v1":               {"user name or password", "before the @"},
		"http://u:SECRET%zz@host/v1":    {"not a URL", "http://localhost:11434/v1"},
		"http://u:SECRET /x@host/v1":    {"not a URL", "http://localhost:11434/v1"},
		"http://host/v1?key=SECRET":     {"query", "the ?"},
		"http://host/v1?":               {"query", "the ?"},
		"http://host/v1#SECRET":         {"fragment", "the #"},
		"http://host/v1#":               {"fragment", "the #"},
		"http://host:0/v1":              {`"0"`, ""},
		"http://host:65536/v1":          {`"65536"`, ""},
		"http://host:99999999999999/v1": {"between 1 and 65535", ""},
		"http://host:port/v1":           {"not a URL", ""},
		"http://ho st/v1":               {"not a URL", ""},
		"http://host\x00/v1":            {"not a URL", ""},
		"://host":                       {"", ""},
	} {
		target, err := upstream.Parse(given)
		if err == nil {
			t.Errorf("%q: got %s, want an error", given, target)
			continue
		}
		if !strings.Contains(err.Error(), want.says) || !strings.HasPrefix(err.Error(), "parsing upstream URL: ") {
			t.Errorf("%q: got %q, want it to say %q", given, err, want.says)
		}
		if way := hint.Of(err); way == "" || !strings.Contains(way, want.way) {
			t.Errorf("%q: hint: got %q, want %q in it", given, way, want.way)
		}
		if strings.Contains(err.Error()+hint.Of(err), "SECRET") {
			t.Errorf("%q: the error repeats what may be secret: %v (%s)", given, err, hint.Of(err))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"http://localhost:1/v1", "demo", "x://y@z?q#f", "http://[::]:0", "a%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		target, err := upstream.Parse(given)
		if err != nil {
			if hint.Of(err) == "" {
				t.Errorf("%q: an error without a hint: %v", given, err)
			}
			return
		}
		again, err := upstream.Parse(target.String())
		if err != nil || again.String() != target.String() {
			t.Errorf("%q: %s reads as %v, %v", given, target, again, err)
		}
	})
}

func TestSwitchingChangesNothingInFlight(t *testing.T) {
	first, second := upstream.NewDemo(upstream.DemoConfig{}), upstream.NewDemo(upstream.DemoConfig{})
	s := upstream.NewSelector(first)
	inFlight := s.Load()
	s.Store(second)
	if inFlight != first || s.Load() != second {
		t.Error("the selector does not hold what was stored last")
	}
}

// gateway.md 13: localhost tries both families, whatever the resolver knows.
func TestLocalhostIsReachedByBothFamilies(t *testing.T) {
	for _, family := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", family)
		if err != nil {
			t.Logf("%s: this machine has no such family: %v", family, err)
			continue
		}
		server := &httptest.Server{Listener: listener, Config: &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") }),
		}}
		server.Start()
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		for _, host := range []string{"localhost", "LOCALHOST", "model.localhost"} {
			target := parse(t, "http://"+host+":"+port)
			if reach, detail := upstream.Probe(t.Context(), target); reach != protocol.ReachOK {
				t.Errorf("%s on %s: got %s: %s", host, family, reach, detail)
			}
			target.Transport.(*http.Transport).CloseIdleConnections()
		}
		server.Close()
	}
}

func parse(t testing.TB, given string) *upstream.Target {
	t.Helper()
	target, err := upstream.Parse(given)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// gateway.md 13: HTTP_PROXY is never used for what a web proxy cannot reach.
func TestWebProxyIsUsedOnlyForOtherMachines(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		t.Setenv(name, "http://proxy.example:3128")
	}
	t.Setenv("NO_PROXY", "internal.example")
	t.Setenv("no_proxy", "internal.example")
	for host, want := range map[string]bool{
		"localhost": false, "localhost.": false, "LocalHost": false, "x.localhost": false, "127.0.0.1": false,
		"127.9.9.9": false, "[::1]": false, "0.0.0.0": false, "[::ffff:127.0.0.1]": false,
		"host.docker.internal": false, "gateway.docker.internal": false, "model-runner.docker.internal": false,
		"host.containers.internal": false, "host.lima.internal": false, "Host.Docker.Internal": false,
		"internal.example": false,
		"api.example.com":  true, "localhost.example.com": true, "notlocalhost": true, "192.168.1.5": true,
		"internal": true, "corp.internal": true,
	} {
		target := parse(t, "http://"+host+":8080/v1")
		transport := target.Transport.(*http.Transport)
		var got bool
		if transport.Proxy != nil {
			r, _ := http.NewRequest(http.MethodGet, target.URL("/models").String(), nil)
			proxy, err := transport.Proxy(r)
			if err != nil {
				t.Fatal(err)
			}
			got = proxy != nil
		}
		if got != want {
			t.Errorf("%s: through the proxy: got %v, want %v", host, got, want)
		}
	}
}

// gateway.md 2 and 6; companion.md: a real pool, nothing compressed by us, no timeout on a silent prefill.
func TestTransport(t *testing.T) {
	transport := parse(t, "https://api.example.com/v1").Transport.(*http.Transport)
	if transport.ResponseHeaderTimeout != 0 {
		t.Errorf("waiting for a header is bounded by %v", transport.ResponseHeaderTimeout)
	}
	if !transport.DisableCompression || transport.MaxIdleConnsPerHost < 32 || !transport.ForceAttemptHTTP2 {
		t.Errorf("got compression off %v, pool of %d, HTTP/2 %v", transport.DisableCompression,
			transport.MaxIdleConnsPerHost, transport.ForceAttemptHTTP2)
	}
}

func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		reach  protocol.Reach
		detail string
	}{
		"a list of models":         {200, `{"data":[]}`, protocol.ReachOK, ""},
		"something else":           {200, "<html>", protocol.ReachOK, "not with a list of models"},
		"loading":                  {503, `{"error":{"message":"Loading model","code":503}}`, protocol.ReachLoading, "the model is loading"},
		"unavailable":              {503, "try later", protocol.ReachDown, "status 503"},
		"broken":                   {500, "", protocol.ReachDown, "status 500"},
		"a key is wanted":          {401, "", protocol.ReachOK, "wants an API key"},
		"the key is refused":       {403, "", protocol.ReachOK, "wants an API key"},
		"another path":             {404, "not found", protocol.ReachOK, "is the base URL right?"},
		"a redirect, not followed": {307, "", protocol.ReachOK, "status 307"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.URL.Path != "/v1/models" || r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer sk-key" {
					t.Errorf("asked: %s %s, Authorization %q", r.Method, r.URL, r.Header.Get("Authorization"))
				}
				w.Header().Set("Location", "/v1/models")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			target := parse(t, server.URL+"/v1")
			target.APIKey = "sk-key"
			reach, detail := upstream.Probe(t.Context(), target)
			if reach != c.reach || !strings.Contains(detail, c.detail) || (c.detail == "") != (detail == "") {
				t.Errorf("got %s %q, want %s %q", reach, detail, c.reach, c.detail)
			}
			if asked != 1 {
				t.Errorf("asked %d times, want once", asked)
			}
			target.Transport.(*http.Transport).CloseIdleConnections()
		})
	}
	if reach, detail := upstream.Probe(t.Context(), upstream.NewDemo(upstream.DemoConfig{})); reach != protocol.ReachOK || detail != "" {
		t.Errorf("the demo model: got %s %q", reach, detail)
	}
}

func TestProbeOfWhatDoesNotAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			accepted <- conn
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	reach, detail := upstream.Probe(ctx, parse(t, "http://"+addr))
	if want := "no answer from " + addr + " in time"; reach != protocol.ReachDown || detail != want {
		t.Errorf("silent: got %s %q, want down %q", reach, detail, want)
	}
	(<-accepted).Close()
	listener.Close()
	reach, detail = upstream.Probe(t.Context(), parse(t, "http://"+addr))
	if want := "connection refused at " + addr; reach != protocol.ReachDown || detail != want {
		t.Errorf("refused: got %s %q, want down %q", reach, detail, want)
	}
}

// gateway.md 14: connection refused says which address and what usually listens there.
func TestExplainNamesWhatUsuallyListens(t *testing.T) {
	for port, want := range map[string]string{
		"11434": "; Ollama usually listens there", "1234": "; LM Studio usually listens there",
		"8080": "; llama.cpp, LocalAI, MLX and RamaLama usually listen there", "9931": "; llama.cpp usually listens there",
		"8000": "; vLLM and Lemonade usually listen there", "30000": "; SGLang usually listens there",
		"1337": "; Jan usually listens there", "4891": "; GPT4All usually listens there",
		"5000": "; text-generation-webui and TabbyAPI usually listen there", "13305": "; Lemonade usually listens there",
		"12434": "; Docker Model Runner usually listens there", "5001": "; KoboldCpp usually listens there", "4242": "",
	} {
		target := parse(t, "http://localhost:"+port+"/v1")
		refused := refusedError(t)
		if got, want := target.Explain(refused), "connection refused at localhost:"+port+want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for given, want := range map[string]string{"http://host/v1": "host:80", "https://host/v1": "host:443"} {
		if got := parse(t, given).Explain(refusedError(t)); got != "connection refused at "+want {
			t.Errorf("%s: got %q", given, got)
		}
	}
}

func refusedError(t *testing.T) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err == nil {
		conn.Close()
		t.Fatal("connected to a closed port")
	}
	return fmt.Errorf("round trip: %w", err)
}

func TestExplainOtherFailures(t *testing.T) {
	target := parse(t, "http://models.example:8000/v1")
	for want, err := range map[string]error{
		"no address found for models.example":                                   &net.DNSError{Err: "no such host", Name: "models.example"},
		"models.example:8000 closed the connection before its answer was whole": fmt.Errorf("x: %w", io.ErrUnexpectedEOF),
		"no answer from models.example:8000 in time":                            context.DeadlineExceeded,
		"no answer from models.example:8000: odd":                               fmt.Errorf("odd"),
		"no answer from models.example:8000: " + strings.Repeat("x", 160) + "…": fmt.Errorf("%s", strings.Repeat("x", 1000)),
	} {
		if got := target.Explain(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
