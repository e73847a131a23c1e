package server

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"chatwright.dev/tray/server/internal/httpx"
)

// serveMetrics lists the calls that are kept, oldest first; a caller that prefers it gets Prometheus' text instead.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if prefersPrometheus(strings.Join(r.Header.Values("Accept"), ",")) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		s.prometheus.ServeHTTP(w, r) // which says what it varies by
		return
	}
	w.Header().Add("Vary", "Accept")
	httpx.WriteJSON(w, http.StatusOK, s.metrics.Calls())
}

// prefersPrometheus reports whether an Accept header puts one of Prometheus' types before JSON. JSON is what was here
// first: it wins a tie, and it is the answer to those who say nothing, or nothing that can be understood.
func prefersPrometheus(accept string) bool {
	var ranges []mediaRange
	for text := range strings.SplitSeq(accept, ",") {
		if r, ok := parseRange(text); ok {
			ranges = append(ranges, r)
		}
	}
	text := max(quality(ranges, "text", "plain"), quality(ranges, "application", "openmetrics-text"))
	return text > quality(ranges, "application", "json")
}

// mediaRange is one element of an Accept header.
type mediaRange struct {
	typ, subtype string // each may be "*"
	q            float64
}

func parseRange(text string) (mediaRange, bool) {
	media, params, err := mime.ParseMediaType(text)
	typ, subtype, slash := strings.Cut(media, "/")
	if err != nil || !slash || typ == "*" && subtype != "*" {
		return mediaRange{}, false
	}
	q := 1.0
	if given, ok := params["q"]; ok {
		if q, err = strconv.ParseFloat(given, 64); err != nil || !(0 <= q && q <= 1) { // so that NaN is neither
			return mediaRange{}, false
		}
	}
	return mediaRange{typ, subtype, q}, true
}

// quality is how much a type is wanted: what the range says that fits it best, or nothing. Of two that fit alike the
// better counts; scrapers list versions of a type, each with a quality of its own.
func quality(ranges []mediaRange, typ, subtype string) float64 {
	q, fit := 0.0, 0
	for _, r := range ranges {
		how := 0
		switch {
		case r.typ == typ && r.subtype == subtype:
			how = 3
		case r.typ == typ && r.subtype == "*":
			how = 2
		case r.typ == "*":
			how = 1
		}
		if how > fit || how == fit && r.q > q && how > 0 {
			q, fit = r.q, how
		}
	}
	return q
}
