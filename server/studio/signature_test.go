package studio_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"testing"

	"aead.dev/minisign"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/studio"
)

func keyPair(t *testing.T) (minisign.PublicKey, minisign.PrivateKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

func (r *release) sign(signature http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signature = signature
}

// security.md 18: "When a public key is configured …, studio-ui.manifest.json.minisig must verify over the exact bytes
// before they are parsed".
func TestSignatures(t *testing.T) {
	public, private := keyPair(t)
	_, strange := keyPair(t)
	archive := studioSite("new").zip(t)
	good := manifest("1.1.0", hash(archive), 1)
	signed := string(minisign.Sign(private, []byte(good)))
	lines := strings.Split(signed, "\n")
	tests := []struct {
		name, manifest string
		signature      http.HandlerFunc
		want           string // "": installed
		is             error
	}{
		{"signed", good, answer(signed), "", nil},
		{"signed, with a comment", good, answer(string(minisign.SignWithComments(private, []byte(good), "Studio 1.1.0", "hello"))), "", nil},
		{"missing", good, fail(404), "there is no studio-ui.manifest.json.minisig (the server answered 404 Not Found)", studio.ErrSignature},
		{"with another key", good, answer(string(minisign.Sign(strange, []byte(good)))), "it was signed with the key", studio.ErrSignature},
		{"of other bytes", good + "\n", answer(signed), "the signature does not belong to this manifest", studio.ErrSignature},
		{"of bytes that are no manifest", "{", answer(signed), "the signature does not belong to this manifest", studio.ErrSignature},
		{"with a changed trusted comment", good, answer(lines[0] + "\n" + lines[1] + "\ntrusted comment: trust me\n" + lines[3]),
			"the signature does not belong to this manifest", studio.ErrSignature},
		{"a page", good, answer("<html>"), "is not a minisign signature", studio.ErrSignature},
		{"empty", good, answer(""), "is not a minisign signature", studio.ErrSignature},
		{"endless", good, answer(strings.Repeat("x", 1<<20)), "over 8 KiB", studio.ErrManifest},
		{"not to be had", good, fail(503), "asking for its signature: the server answered 503", studio.ErrManifest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRelease(t)
			old := r.publish(t, "1.0.0", studioSite("old"))
			r.sign(answer(string(minisign.Sign(private, []byte(manifest("1.0.0", old, 1))))))
			s, _ := open(t, r.URL, func(cfg *studio.Config) { cfg.PublicKey = public.String() })
			update(t, s)
			r.serve(answer(tt.manifest), answer(string(archive)))
			r.sign(tt.signature)
			_, err := s.Update(t.Context(), studio.UpdateOptions{})
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantCurrent(t, s, studioSite("new"))
				return
			}
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) || hint.Of(err) == "" {
				t.Errorf("got %v (hint %q), want %v with %q and a way out", err, hint.Of(err), tt.is, tt.want)
			}
			if r.downloads.Load() != 1 {
				t.Error("the archive was asked for")
			}
			wantCurrent(t, s, studioSite("old"))
		})
	}
}

func TestWithoutAKeyNoSignatureIsAskedFor(t *testing.T) {
	r := newRelease(t)
	r.publish(t, "1.0.0", studioSite("one"))
	r.sign(func(http.ResponseWriter, *http.Request) { t.Error("asked for") })
	s, _ := open(t, r.URL, nil)
	update(t, s)
}

func TestPublicKeys(t *testing.T) {
	public, _ := keyPair(t)
	line := strings.Split(public.String(), "\n")
	for name, text := range map[string]string{
		"none":              "",
		"the line":          line[len(line)-1],
		"with white space":  " " + line[len(line)-1] + "\n",
		"as minisign keeps": "untrusted comment: minisign public key\n" + line[len(line)-1] + "\n",
	} {
		if err := studio.CheckPublicKey(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"x", "RWQ", line[len(line)-1][:40], "https://studio.test/minisign.pub"} {
		_, err := studio.Open(studio.Config{CacheDir: t.TempDir(), PublicKey: text})
		if err == nil || studio.CheckPublicKey(text) == nil || hint.Of(err) == "" {
			t.Errorf("%q: got %v (hint %q), want it refused with a way out", text, err, hint.Of(err))
		}
	}
}
