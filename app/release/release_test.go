package release_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/app/release"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is a transport that answers every request with one text.
type answers struct {
	status int
	text   string
	asked  []*http.Request
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r)
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.text)), Header: http.Header{}, Request: r}, nil
}

// watch runs for a while of fake time, as a process that was asked for last then, and returns what was found.
func watch(t *testing.T, a *answers, lastAsked, while time.Duration) (found []release.Release) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		asked := time.Now().Add(-lastAsked)
		ctx, cancel := context.WithTimeout(t.Context(), while)
		defer cancel()
		err := release.Watch(ctx, release.Config{
			URL: "https://releases.example/latest", Current: "1.0.0", Client: &http.Client{Transport: a},
			Older:     func(a, b string) bool { return a < b },
			LastAsked: func() time.Time { return asked }, Asked: func(at time.Time) { asked = at },
			Found: func(r release.Release) { found = append(found, r) },
		})
		if err != nil {
			t.Error(err)
		}
	})
	return found
}

const long = 1000 * time.Hour // ago

func TestANewerReleaseIsToldOnceADayAtMost(t *testing.T) {
	a := &answers{status: 200, text: `{"version":"1.1.0","url":"https://chatwright.dev/tray"}`}
	found := watch(t, a, long, 3*24*time.Hour)
	if len(a.asked) != 3 || len(found) != 3 || found[0] != (release.Release{Version: "1.1.0", URL: "https://chatwright.dev/tray"}) {
		t.Errorf("asked %d times in 3 days, found %+v", len(a.asked), found)
	}
	a.asked = nil
	if watch(t, a, time.Hour, 22*time.Hour); len(a.asked) != 0 {
		t.Errorf("a start an hour after the last question asked again")
	}
	if watch(t, a, time.Hour, 25*time.Hour); len(a.asked) != 1 {
		t.Errorf("asked %d times, want once the day is over", len(a.asked))
	}
	if watch(t, a, long, 30*time.Second); len(a.asked) != 1 {
		t.Errorf("asked in the first half minute of a start")
	}
}

func TestTheShapeOfGitHub(t *testing.T) {
	a := &answers{status: 200, text: `{"url":"https://api.example/1","tag_name":"v1.2.0","html_url":"https://example/releases/v1.2.0"}`}
	if found := watch(t, a, long, time.Hour); len(found) != 1 || found[0] != (release.Release{Version: "1.2.0", URL: "https://example/releases/v1.2.0"}) {
		t.Errorf("got %+v", found)
	}
}

// Nothing is sent but the request.
func TestTheRequestSaysNothing(t *testing.T) {
	a := &answers{status: 200, text: "{}"}
	watch(t, a, long, time.Hour)
	r := a.asked[0]
	if r.Method != http.MethodGet || r.Body != nil || r.URL.RawQuery != "" || len(r.Header) != 2 || r.Header.Get("User-Agent") != "chatwright-tray" {
		t.Errorf("got %s %s %v", r.Method, r.URL, r.Header)
	}
}

func TestWhatIsNoNewerReleaseIsNotTold(t *testing.T) {
	for name, a := range map[string]*answers{
		"the same":         {status: 200, text: `{"version":"1.0.0","url":"https://x.example"}`},
		"an older one":     {status: 200, text: `{"version":"0.9.0","url":"https://x.example"}`},
		"an error":         {status: 500, text: `{"version":"9.0.0","url":"https://x.example"}`},
		"no JSON":          {status: 200, text: `<p>`},
		"a page that acts": {status: 200, text: `{"version":"9.0.0","url":"javascript:alert(1)"}`},
		"a file":           {status: 200, text: `{"version":"9.0.0","url":"file:///etc/passwd"}`},
		"no page":          {status: 200, text: `{"version":"9.0.0"}`},
		"no version":       {status: 200, text: `{"url":"https://x.example"}`},
		"a long version":   {status: 200, text: `{"version":"` + strings.Repeat("9", 300) + `","url":"https://x.example"}`},
	} {
		if found := watch(t, a, long, time.Hour); len(found) != 0 || len(a.asked) != 1 {
			t.Errorf("%s: got %+v after %d questions", name, found, len(a.asked))
		}
	}
}
