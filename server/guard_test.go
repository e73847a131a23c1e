package server_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
)

// The words of the guard's table. PORT stands for the port that is served, OTHER for another one.
var (
	guardHosts = map[string]bool{
		"127.0.0.1:PORT":                   true,
		"127.8.9.1:PORT":                   true,
		"[::1]:PORT":                       true,
		"localhost:PORT":                   true,
		"LocalHost:PORT":                   true,
		"localhost.:PORT":                  true,
		"chatwright.localhost:PORT":        true,
		"CHATWRIGHT.localhost.:PORT":       true,
		"studio.lan:PORT":                  true, // configured
		"studio.lan:8443":                  true,
		"boxed.lan:9000":                   true, // configured with this port
		"boxed.lan:PORT":                   false,
		"localhost:OTHER":                  false,
		"localhost":                        false, // that is port 80
		"localhost..:PORT":                 false,
		"127.0.0.1":                        false,
		"0.0.0.0:PORT":                     false,
		"[::]:PORT":                        false,
		"[::ffff:127.0.0.1]:PORT":          false,
		"127.0.0.1.evil.test:PORT":         false,
		"evil.localhost:PORT":              false,
		"chatwright.localhost.evil.test:1": false,
		"rebind.test:PORT":                 false,
		"128.0.0.1:PORT":                   false,
		"localhost:0PORT":                  false,
		"localhost@evil.test:PORT":         false,
	}
	guardOrigins = map[string]bool{ // "" stands for no Origin at all
		"":                                   true,
		"https://chatwright.dev":             true,
		"http://chatwright.localhost":        true,
		"https://configured.example:8443":    true,
		"http://localhost:3000":              true,
		"https://localhost":                  true,
		"http://127.0.0.1:5173":              true,
		"http://127.9.9.9":                   true,
		"http://[::1]:8080":                  true,
		"http://my.app.localhost:1":          true,
		"http://chatwright.localhost:PORT":   true,
		"null":                               false,
		"http://chatwright.dev":              false,
		"https://chatwright.dev.evil.test":   false,
		"https://CHATWRIGHT.DEV:444":         false,
		"https://chatwright.dev:8443":        false,
		"https://configured.example":         false,
		"http://rebind.test:PORT":            false,
		"http://evil.test":                   false,
		"http://localhost.evil.test":         false,
		"http://notlocalhost":                false,
		"http://evil.test#.localhost":        false,
		"http://localhost@evil.test":         false,
		"http://127.0.0.1.evil.test":         false,
		"http://0.0.0.0:PORT":                false,
		"file://":                            false,
		"chrome-extension://abcdefghijklmno": false,
	}
	guardFetches = []struct {
		site, mode         string
		foreign, navigates bool
	}{
		{"", "", false, false},
		{"none", "navigate", false, true},
		{"same-origin", "cors", false, false},
		{"same-site", "cors", true, false},
		{"cross-site", "no-cors", true, false},
		{"cross-site", "navigate", true, true},
		{"same-site", "navigate", true, true},
	}
	guardRoutes = []struct {
		method, path, body string
		page               bool
		status             int // when the guard lets it through
	}{
		{"GET", "/health", "", false, 200},
		{"GET", "/", "", true, 200},
		{"GET", "/console/console.js", "", false, 200},
		{"POST", chatPath, chatBody, false, 200},
		{"OPTIONS", chatPath, "", false, 204},
		{"DELETE", "/metrics", "", false, 405},
	}
)

// security.md 1 to 4: hosts × origins × fetch metadata × routes, over real sockets, with what must not happen.
func TestGuard(t *testing.T) {
	cfg := server.Config{AllowedHosts: []string{"Studio.lan", "boxed.lan:9000"}, AllowedOrigins: []string{"https://configured.example:8443"}}
	r, provider := withUpstream(t, "chat", cfg)
	_, port, _ := net.SplitHostPort(r.Addr)
	fill := strings.NewReplacer("PORT", port, "OTHER", "1").Replace

	reached := 0
	for host, hostOK := range guardHosts {
		// Three hosts meet everything; of the others each meets one of each kind.
		full := host == "127.0.0.1:PORT" || host == "chatwright.localhost:PORT" || host == "rebind.test:PORT"
		for origin, originOK := range guardOrigins {
			if !full && origin != "" && origin != "https://chatwright.dev" && origin != "http://rebind.test:PORT" {
				continue
			}
			for i, fetch := range guardFetches {
				if !full && i%2 == 1 {
					continue
				}
				for _, route := range guardRoutes {
					headers := []string{"Host", fill(host)}
					if origin != "" {
						headers = append(headers, "Origin", fill(origin))
					}
					if fetch.site != "" {
						headers = append(headers, "Sec-Fetch-Site", fetch.site, "Sec-Fetch-Mode", fetch.mode)
					}
					want := route.status
					switch {
					case !hostOK:
						want = 403
					case route.method == "OPTIONS":
					case origin != "" && !originOK:
						want = 403
					case origin == "" && fetch.foreign && (!fetch.navigates || !route.page):
						want = 403
					}
					got := ask(t, r, route.method, route.path, route.body, headers...)
					name := fmt.Sprintf("%s %s host=%s origin=%s site=%s mode=%s", route.method, route.path, host, origin, fetch.site, fetch.mode)
					if got.Status != want {
						t.Errorf("%s: got %d %s, want %d", name, got.Status, got.Body, want)
					}
					if want == 200 && route.path == chatPath {
						reached++
					}
					checkGuardHeaders(t, name, got, fill(origin), originOK && origin != "", want == 403)
				}
			}
		}
	}
	if got := len(provider.Requests()); got != reached {
		t.Errorf("calls that reached the model: got %d, want %d", got, reached)
	}
}

func checkGuardHeaders(t *testing.T, name string, got answer, origin string, allowed, refused bool) {
	t.Helper()
	if vary := got.Header.Values("Vary"); len(vary) != 1 || vary[0] != "Origin" {
		t.Errorf("%s: Vary: got %q, want Origin", name, vary)
	}
	allow, private := got.Header.Values("Access-Control-Allow-Origin"), got.Header.Values("Access-Control-Allow-Private-Network")
	switch {
	case allowed && (len(allow) != 1 || allow[0] != origin || len(private) != 1 || private[0] != "true"):
		t.Errorf("%s: got Allow-Origin %q, Allow-Private-Network %q, want the origin and true", name, allow, private)
	case !allowed:
		for header := range got.Header {
			if strings.HasPrefix(header, "Access-Control-") {
				t.Errorf("%s: got header %s, want none of CORS", name, header)
			}
		}
	}
	if refused && (got.Header.Get("Content-Type") != jsonType || !strings.HasPrefix(got.Body, `{"error":`) || !strings.HasSuffix(got.Body, "}\n")) {
		t.Errorf("%s: got %s %q, want a JSON error", name, got.Header.Get("Content-Type"), got.Body)
	}
}

// security.md 1: what an http client cannot be made to send.
func TestGuardRefusesRawRequests(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	for name, request := range map[string]string{
		"no Host at all":                     "GET /health HTTP/1.0\r\n\r\n",
		"an empty Host":                      "GET /health HTTP/1.1\r\nHost:\r\n\r\n",
		"a foreign name in the request line": "GET http://evil.test/health HTTP/1.1\r\nHost: ADDR\r\n\r\n",
		"a preflight to a foreign name":      "OPTIONS * HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		"a tunnel":                           "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
		"a preflight from a page, rebound":   "OPTIONS /health HTTP/1.1\r\nHost: evil.test\r\nOrigin: http://evil.test\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, closed := raw(t, r, request)
			if got.Status != 403 || !closed {
				t.Errorf("got %d, closed %v, want 403 and closed", got.Status, closed)
			}
		})
	}
	got, _ := raw(t, r, "OPTIONS * HTTP/1.1\r\nHost: ADDR\r\nConnection: close\r\n\r\n")
	if got.Status != 204 || got.Body != "" {
		t.Errorf("OPTIONS *: got %d %q, want 204", got.Status, got.Body)
	}
}

// security.md 1: before the body is read, and the connection is closed after it.
func TestGuardDoesNotWaitForTheBody(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	for name, head := range map[string]string{
		"a body that never comes":       "Content-Length: 10\r\n",
		"a large body that never comes": "Content-Length: 100000000\r\n",
		"chunks that never come":        "Transfer-Encoding: chunked\r\n",
		"a body that waits to be asked": "Content-Length: 10\r\nExpect: 100-continue\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got, closed := raw(t, r, "POST "+chatPath+" HTTP/1.1\r\nHost: evil.test\r\n"+head+"\r\n")
			if got.Status != 403 || !closed {
				t.Errorf("got %d, closed %v, want 403 and closed", got.Status, closed)
			}
			if took := time.Since(began); took > 4*time.Second { // the deadline of raw is 5 s
				t.Errorf("took %s", took)
			}
		})
	}
}

// companion.md: under /v1/ every error of ours is the OpenAI object, the guard's too.
func TestGuardErrorShapes(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	own := ask(t, r, "GET", "/health", "", "Origin", "http://evil.test")
	own.wants(t, 403, `{"error":"this origin is not allowed here: allow it with --allow-origin"}`+"\n")
	openai := ask(t, r, "GET", "/v1/models", "", "Origin", "http://evil.test")
	openai.wants(t, 403, `{"error":{"message":"this origin is not allowed here: allow it with --allow-origin","type":"invalid_request_error","param":null,"code":"origin_not_allowed"}}`+"\n")
}

// companion.md, CORS: Allow-Headers echoes what the preflight asks for.
func TestCORSAllowHeaders(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	origin := []string{"Origin", "https://chatwright.dev"}
	asked := ask(t, r, "OPTIONS", chatPath, "", append(origin, "Access-Control-Request-Headers", "content-type,x-mine")...)
	asked.wants(t, 204, "")
	asked.wantsHeader(t, "Access-Control-Allow-Headers", "content-type,x-mine")
	asked.wantsHeader(t, "Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	ask(t, r, "GET", "/health", "", origin...).wantsHeader(t, "Access-Control-Allow-Headers", "Content-Type, Authorization")
}

// security.md 3: two Origins are no Origin that is allowed, and an empty one is one.
func TestGuardOriginOnce(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	for _, headers := range [][]string{
		{"Origin", "https://chatwright.dev", "Origin", "http://evil.test"},
		{"Origin", ""},
	} {
		if got := ask(t, r, "GET", "/health", "", headers...); got.Status != 403 {
			t.Errorf("%q: got %d, want 403", headers, got.Status)
		}
	}
}

// A page that was served here under a configured name calls under the same name.
func TestGuardSameOriginUnderConfiguredName(t *testing.T) {
	r := servertest.Start(t, server.Config{AllowedHosts: []string{"studio.lan"}})
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"studio.lan:4319", "http://studio.lan:4319", 200},
		{"studio.lan:4319", "http://studio.lan:4320", 403},
		{"evil.test:4319", "http://evil.test:4319", 403},
	} {
		if got := ask(t, r, "GET", "/health", "", "Host", c.host, "Origin", c.origin); got.Status != c.want {
			t.Errorf("host %s, origin %s: got %d, want %d", c.host, c.origin, got.Status, c.want)
		}
	}
}

// security.md 3: a cross-site POST of the kinds that browsers send without asking reaches nothing.
func TestOriginalFault_CrossSiteSimplePostsReachTheModel(t *testing.T) {
	r, provider := withUpstream(t, "chat", server.Config{})
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		for _, path := range []string{chatPath, "/datastate/query"} {
			for _, from := range [][]string{{"Origin", "http://evil.test"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}} {
				if got := ask(t, r, "POST", path, chatBody, append(from, "Content-Type", kind)...); got.Status != 403 {
					t.Errorf("%s %s %q: got %d, want 403", kind, path, from, got.Status)
				}
			}
		}
	}
	if got := provider.Requests(); len(got) != 0 {
		t.Errorf("the model got %d calls, want none", len(got))
	}
	ask(t, r, "GET", "/metrics", "").wants(t, 200, "[]\n")
}

// security.md 2.
func TestOriginalFault_HostNeverChecked(t *testing.T) {
	r, provider := withUpstream(t, "chat", server.Config{})
	_, port, _ := net.SplitHostPort(r.Addr)
	host := "rebind.test:" + port
	for _, path := range []string{"/health", "/metrics", "/v1/models", "/", "/console/", "/nowhere"} {
		got := ask(t, r, "GET", path, "", "Host", host, "Origin", "http://"+host, "Sec-Fetch-Site", "same-origin")
		if got.Status != 403 {
			t.Errorf("%s: got %d, want 403", path, got.Status)
		}
	}
	if len(provider.Requests()) != 0 {
		t.Error("a rebound page reached the model")
	}
}

// security.md 1: static files too.
func TestGuardStaticFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("<title>studio</title>"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := servertest.Start(t, server.Config{UIDir: dir})
	for _, c := range []struct {
		path    string
		headers []string
		want    int
	}{
		{"/", nil, 200},
		{"/", []string{"Host", "evil.test"}, 403},
		{"/index.html", []string{"Host", "evil.test"}, 403},
		{"/playground?tab=ai-test", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"/playground", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"/metrics", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"/console/events", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"/v1/nowhere", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
	} {
		if got := ask(t, r, "GET", c.path, "", c.headers...); got.Status != c.want {
			t.Errorf("%s %q: got %d, want %d", c.path, c.headers, got.Status, c.want)
		}
	}
}

// Handler works under any net/http server: the port is that of the connection.
func TestHandlerUnderHTTPTest(t *testing.T) {
	s, err := server.New(server.Config{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s.Handler())
	defer ts.Close()
	resp, err := ts.Client().Get(ts.URL + "/health")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("got %d, want 200", resp.StatusCode)
	}
	// Called in process there is no port to compare with; the name still counts.
	for host, want := range map[string]int{"localhost:1": 200, "evil.test": 403} {
		w := httptest.NewRecorder()
		req := httptest.NewRequest("GET", "/health", nil)
		req.Host = host
		s.Handler().ServeHTTP(w, req)
		if w.Code != want {
			t.Errorf("host %s: got %d, want %d", host, w.Code, want)
		}
	}
}

func TestNewRefusesWhatNoBrowserSends(t *testing.T) {
	for name, cfg := range map[string]server.Config{
		"no version":                {},
		"an origin with a slash":    {Version: "1", AllowedOrigins: []string{"https://studio.example/"}},
		"an origin that is a host":  {Version: "1", AllowedOrigins: []string{"studio.example"}},
		"an origin in capitals":     {Version: "1", AllowedOrigins: []string{"https://Studio.example"}},
		"every origin":              {Version: "1", AllowedOrigins: []string{"*"}},
		"no origin":                 {Version: "1", AllowedOrigins: []string{"null"}},
		"a host with a scheme":      {Version: "1", AllowedHosts: []string{"http://studio.lan"}},
		"every host":                {Version: "1", AllowedHosts: []string{"*"}},
		"a short token":             {Version: "1", RemoteToken: []byte("short")},
		"an empty token":            {Version: "1", RemoteToken: []byte{}},
		"an upstream without a :":   {Version: "1", UpstreamBaseURL: "nonsense"},
		"a fixtures file not there": {Version: "1", FixturesPath: filepath.Join(t.TempDir(), "none.json")},
		"a UI folder not there":     {Version: "1", UIDir: filepath.Join(t.TempDir(), "none")},
	} {
		if _, err := server.New(cfg); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	ok := server.Config{Version: "1", AllowedOrigins: []string{"chrome-extension://abcdef", "https://studio.example:8443"}}
	if _, err := server.New(ok); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}
