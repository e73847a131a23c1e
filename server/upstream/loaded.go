package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
)

// maxLoadedAnswer bounds what is read of a list of loaded models.
const maxLoadedAnswer = 1 << 20

// Loaded is a model that an Ollama holds in memory.
type Loaded struct {
	Name string // "llama3.2:latest"
	Size int64  // bytes
	VRAM int64  // of them in the memory of a GPU
}

// Is says whether it is the model that a caller means by name.
func (l Loaded) Is(name string) bool {
	return name != "" && (l.Name == name || l.Name == name+":latest")
}

// Loopback says whether t is on this machine for certain. The demo model is no server at all.
func (t *Target) Loopback() bool {
	if t.Inside() {
		return false
	}
	host := t.BaseURL.Hostname()
	if isLocalhost(host) {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// LoadedModels asks the Ollama at t which models it holds in memory. Other servers do not know the question, which is
// an error. The caller bounds the time through ctx.
func LoadedModels(ctx context.Context, t *Target) ([]Loaded, error) {
	where := url.URL{Scheme: t.BaseURL.Scheme, Host: t.BaseURL.Host, Path: "/api/ps"} // not below "/v1", which is the dialect of others
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := t.Transport.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("asking for loaded models: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking for loaded models: status %d", answer.StatusCode)
	}
	var list struct {
		Models []struct {
			Name string `json:"name"`
			Size int64  `json:"size"`
			VRAM *int64 `json:"size_vram"`
		} `json:"models"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxLoadedAnswer)).Decode(&list); err != nil {
		return nil, fmt.Errorf("reading loaded models: %w", err)
	}
	var loaded []Loaded
	for _, m := range list.Models {
		if m.VRAM != nil { // where it is not told, nothing is known
			loaded = append(loaded, Loaded{m.Name, m.Size, *m.VRAM})
		}
	}
	return loaded, nil
}
