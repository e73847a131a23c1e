package detect

import (
	"slices"

	"chatwright.dev/tray/server/protocol"
)

// Choice is the upstream that calls go to when nobody has said, and why, as the menu says it.
type Choice struct {
	BaseURL string
	Why     string
}

// Choose picks the upstream: the configured one, else the one used last if it is there, else the only one found, else
// Ollama among several, else the first of several, else fallback, which is then shown as not reachable. Empty strings
// say that there is none.
func Choose(configured, lastUsed, fallback string, found []protocol.FoundServer) Choice {
	if configured != "" {
		return Choice{configured, "as set"}
	}
	at := func(is func(protocol.FoundServer) bool) int { return slices.IndexFunc(found, is) }
	if i := at(func(s protocol.FoundServer) bool { return s.BaseURL == lastUsed }); i >= 0 {
		return Choice{lastUsed, "used last"}
	}
	switch ollama := at(func(s protocol.FoundServer) bool { return s.Kind == "ollama" }); {
	case len(found) == 1:
		return Choice{found[0].BaseURL, "the only model server found"}
	case ollama >= 0:
		return Choice{found[ollama].BaseURL, "Ollama, of several found"}
	case len(found) > 0:
		return Choice{found[0].BaseURL, "the first of several found"}
	}
	return Choice{fallback, "no model server was found"}
}
