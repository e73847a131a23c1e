package control_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// upstreams notes what it is asked.
type upstreams struct{ asked []string }

func (u *upstreams) note(parts ...string) { u.asked = append(u.asked, strings.Join(parts, " ")) }

func (u *upstreams) entry(name string) (protocol.UpstreamEntry, error) {
	if name == "gone" {
		return protocol.UpstreamEntry{}, hint.With(control.Refuse(protocol.CodeNotFound, "there is none"), "add it")
	}
	return protocol.UpstreamEntry{UpstreamProfile: protocol.UpstreamProfile{Name: name}, Source: protocol.SourceNamed, Reach: protocol.ReachUnknown}, nil
}

func (u *upstreams) List(_ context.Context, ask bool) protocol.UpstreamList {
	if ask {
		u.note("ask")
	} else {
		u.note("list")
	}
	return protocol.UpstreamList{}
}
func (u *upstreams) Get(name string) (protocol.UpstreamEntry, error) {
	u.note("get", name)
	return u.entry(name)
}
func (u *upstreams) Put(name string, req protocol.PutUpstreamRequest) (protocol.UpstreamEntry, bool, error) {
	key := "keep"
	if req.APIKey != nil {
		key = "key=" + *req.APIKey
	}
	u.note("put", name, req.BaseURL, key)
	entry, err := u.entry(name)
	return entry, name == "new", err
}
func (u *upstreams) Delete(name string) error {
	u.note("delete", name)
	_, err := u.entry(name)
	return err
}
func (u *upstreams) Use(name string) error { u.note("use", name); _, err := u.entry(name); return err }

func TestUpstreamRoutes(t *testing.T) {
	u := &upstreams{}
	d := start(t, control.Config{Upstreams: u})
	for _, c := range []struct {
		method, path, body string
		status             int
		asked, want        string
	}{
		{"GET", "/v1/upstreams", "", 200, "list", `{"upstreams":[]}`},
		{"GET", "/v1/upstreams?ask=0", "", 200, "list", `{"upstreams":[]}`},
		{"GET", "/v1/upstreams?ask=1", "", 200, "ask", `{"upstreams":[]}`},
		{"GET", "/v1/upstreams?ask=yes", "", 400, "", `"code":"invalid_input"`},
		{"GET", "/v1/upstreams/work", "", 200, "get work", `"name":"work"`},
		{"GET", "/v1/upstreams/gone", "", 404, "get gone", `"hint":"add it"`},
		{"PUT", "/v1/upstreams/new", `{"base_url":"http://h/v1","api_key":"k"}`, 201, "put new http://h/v1 key=k", `"name":"new"`},
		{"PUT", "/v1/upstreams/work", `{"name":"work","base_url":"http://h/v1","has_key":true,"kind":"openai"}`, 200, "put work http://h/v1 keep", `"name":"work"`},
		{"PUT", "/v1/upstreams/work", `{"name":"other","base_url":"http://h/v1"}`, 400, "", "not that of the path"},
		{"PUT", "/v1/upstreams/work", `{"base_url":"http://h/v1","password":"x"}`, 400, "", "password"},
		{"PUT", "/v1/upstreams/work", `{"base_url":"` + strings.Repeat("x", 64<<10) + `"}`, 413, "", "64 KiB"},
		{"PUT", "/v1/upstreams/gone", `{"base_url":"http://h/v1"}`, 404, "put gone http://h/v1 keep", "there is none"},
		{"DELETE", "/v1/upstreams/work", "", 204, "delete work", ""},
		{"DELETE", "/v1/upstreams/gone", "", 404, "delete gone", "there is none"},
		{"POST", "/v1/upstreams/work/use", "", 204, "use work", ""},
		{"POST", "/v1/upstreams/gone/use", "{}", 404, "use gone", "there is none"},
		{"GET", "/v1/upstreams/", "", 404, "", "no such route"},
		{"POST", "/v1/upstreams//use", "", 404, "", "no such route"},
		{"POST", "/v1/upstreams/work/use/", "", 404, "", "no such route"},
		{"GET", "/v1/upstreams/..%2f..%2fetc", "", 200, "get ..%2f..%2fetc", ""}, // as it was sent; such a name is nobody's
		{"POST", "/v1/upstreams/work", "", 405, "", "method not allowed"},
		{"GET", "/v1/upstreams/work/use", "", 405, "", "method not allowed"},
	} {
		u.asked = nil
		got := d.do(t, c.method, c.path, c.body)
		if got.status != c.status || strings.Join(u.asked, "; ") != c.asked || !strings.Contains(got.body, c.want) {
			t.Errorf("%s %s: got %d %q, asked %q, want %d, %q and %q", c.method, c.path, got.status, got.body, u.asked, c.status, c.asked, c.want)
		}
	}
	none := start(t, control.Config{})
	for _, path := range []string{"/v1/upstreams", "/v1/upstreams/work"} {
		wantError(t, none.do(t, http.MethodGet, path, ""), 404, protocol.CodeNotFound, "knows of no upstreams")
	}
}

func TestClientAsksForUpstreams(t *testing.T) {
	u := &upstreams{}
	c := client.New(start(t, control.Config{Upstreams: u}).path)
	key := "k"
	_, err1 := c.Upstreams(t.Context(), true)
	entry, err2 := c.Upstream(t.Context(), "work")
	put, err3 := c.PutUpstream(t.Context(), "new", protocol.PutUpstreamRequest{BaseURL: "http://h/v1", APIKey: &key})
	err4, err5 := c.UseUpstream(t.Context(), "work"), c.DeleteUpstream(t.Context(), "a/b")
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Error(err)
		}
	}
	if err5 != nil {
		t.Errorf("a name that is escaped: %v", err5)
	}
	if entry.Name != "work" || put.Name != "new" {
		t.Errorf("got %+v and %+v", entry, put)
	}
	if got, want := strings.Join(u.asked, "; "), "ask; get work; put new http://h/v1 key=k; use work; delete a%2Fb"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	if err := c.UseUpstream(t.Context(), "gone"); err == nil || hint.Of(err) != "add it" {
		t.Errorf("got %v, want the daemon's words and its hint", err)
	}
}
