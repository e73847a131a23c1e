package server

import (
	"path"
	"strings"
)

// contentType says what a file is by its extension alone. The tables of the host are not asked: on some a script is
// text/plain, and with nosniff a browser would not run it.
func contentType(name string) string {
	if known, ok := contentTypes[strings.ToLower(path.Ext(name))]; ok {
		return known
	}
	return "application/octet-stream"
}

var contentTypes = map[string]string{
	".avif":        "image/avif",
	".css":         "text/css; charset=utf-8",
	".csv":         "text/csv; charset=utf-8",
	".gif":         "image/gif",
	".htm":         "text/html; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".ico":         "image/x-icon",
	".jpeg":        "image/jpeg",
	".jpg":         "image/jpeg",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json; charset=utf-8",
	".map":         "application/json; charset=utf-8",
	".md":          "text/markdown; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".mp3":         "audio/mpeg",
	".mp4":         "video/mp4",
	".ogg":         "audio/ogg",
	".otf":         "font/otf",
	".pdf":         "application/pdf",
	".png":         "image/png",
	".svg":         "image/svg+xml",
	".ttf":         "font/ttf",
	".txt":         "text/plain; charset=utf-8",
	".wasm":        "application/wasm",
	".wav":         "audio/wav",
	".webm":        "video/webm",
	".webmanifest": "application/manifest+json; charset=utf-8",
	".webp":        "image/webp",
	".woff":        "font/woff",
	".woff2":       "font/woff2",
	".xhtml":       "application/xhtml+xml",
	".xml":         "application/xml; charset=utf-8",
	".yaml":        "application/yaml; charset=utf-8",
	".yml":         "application/yaml; charset=utf-8",
}

// isDocument reports whether a browser shows a file as a page in which scripts can run.
func isDocument(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml", ".svg", ".xml":
		return true
	}
	return false
}
