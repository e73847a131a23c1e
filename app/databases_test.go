package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
)

func makeDatabase(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file://"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO lists VALUES (1, 'milk')"); err != nil {
		t.Fatal(err)
	}
}

func post(t *testing.T, addr, body string) string {
	t.Helper()
	resp, err := http.Post("http://"+addr+"/datastate/query", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A database that is not there at start stops nothing; the tray says so until it is there.
func TestDatabaseThatCannotBeReachedIsANoticeUntilItCan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "datastate=shop=sqlite:"+path) })
	addr := l.discovery().Addr
	l.awaitMenu(`Data state: holder "shop": cannot be reached`)
	const query = `{"query": "{from: {name: lists}}", "expectations": [{"type": "rowContains", "row": {"title": "milk"}}]}`
	if got := post(t, addr, query); !strings.Contains(got, `"verdict":"fail","rows":null`) || !strings.Contains(got, `holder \"shop\": cannot be reached`) {
		t.Errorf("while it is missing: got %s", got)
	}
	makeDatabase(t, path)
	l.clicks <- tray.MenuOpened
	l.awaitView("no notice", func(menu string) bool { return !strings.Contains(menu, "Data state") })
	if got := post(t, addr, query); !strings.Contains(got, `"verdict":"pass"`) {
		t.Errorf("once it is there: got %s", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_ = post(t, addr, query) // which finds out
	l.awaitMenu(`Data state: holder "shop": cannot be reached`)
}

// After a hangup the databases are those of the new settings, also where only a file with a DSN changed.
func TestHangupExchangesTheDatabases(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.db", "b.db"} {
		makeDatabase(t, filepath.Join(folder, name))
	}
	l, hangup := hangups(t)
	holders := func() string {
		resp, err := http.Get("http://" + l.discovery().Addr + "/datastate/holders")
		if err != nil {
			return err.Error() // it restarts just now
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return strings.TrimSpace(string(text))
	}
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"datastate=a=sqlite:" + filepath.Join(folder, "a.db")}, `{"holders":[{"name":"a","kind":"sqlite","reach":"ok"}]}`},
		{[]string{"datastate=b=sqlite:" + filepath.Join(folder, "b.db")}, `{"holders":[{"name":"b","kind":"sqlite","reach":"ok"}]}`},
		{nil, `{"holders":[]}`},
	} {
		hangup(c.flags...)
		// The restart has no other sign to the outside.
		timetest.Until(t, c.want, func() (string, bool) { got := holders(); return got, got == c.want })
	}
}

// Nobody is asked while all answer; while one is down it is asked less and less often, and when somebody looks.
func TestLookoutAsksOnlyWhileADatabaseIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := make(chan struct{}, 1)
		b := newBoard(parts{})
		look := newLookout(b, slog.New(slog.DiscardHandler), ask)
		var probes atomic.Int64
		var down atomic.Bool
		probe := func(context.Context) []protocol.Holder {
			probes.Add(1)
			var err error
			if down.Load() {
				err = errors.New("gone")
			}
			look.observe("shop", err)
			return nil
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- look.Run(ctx, probe) }()
		expect := func(what string, n int64, notices int) {
			t.Helper()
			synctest.Wait()
			if got := probes.Load(); got != n || len(b.Get().notices) != notices {
				t.Errorf("%s: got %d probes and %d notices, want %d and %d", what, got, len(b.Get().notices), n, notices)
			}
		}
		timetest.Pass(24 * time.Hour)
		expect("a day on which it answers", 1, 0)
		ask <- struct{}{}
		expect("somebody looks, and all is well", 1, 0)

		down.Store(true)
		look.observe("shop", fmt.Errorf("a query failed"))
		timetest.Pass(askSoon + time.Second)
		expect("soon after it went down", 2, 1)
		timetest.Pass(24 * time.Hour)
		if got := probes.Load(); got > 300 {
			t.Errorf("a day on which it is down: got %d probes", got)
		}
		before := probes.Load()
		ask <- struct{}{}
		expect("somebody looks", before+1, 1)

		down.Store(false)
		look.observe("shop", nil) // a query went through
		expect("it is back", before+1, 0)
		timetest.Pass(24 * time.Hour)
		if got := probes.Load(); got > before+2 {
			t.Errorf("a day on which it answers again: got %d probes more", got-before-1)
		}
		look.observe("shop", errors.New("gone"))
		stop()
		if err := <-ended; err != nil || len(b.Get().notices) != 0 {
			t.Errorf("the end: got %v and %d notices, want neither", err, len(b.Get().notices))
		}
	})
}
