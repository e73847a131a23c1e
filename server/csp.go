package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// studioPolicy returns the Content-Security-Policy for a page of a Studio build. The page brings an inline script and
// event handlers, so what is inline in these bytes is allowed by its hash and nothing else is: a model's answer that
// ends up in the page as markup cannot run. It calls this server under both names, providers over https with the
// user's own key, and frames bots.
func studioPolicy(page []byte) string {
	scripts := append([]string{"script-src 'self' 'unsafe-hashes'"}, inlineHashes(page)...)
	return strings.Join(scripts, " ") + "; " +
		"style-src 'self' 'unsafe-inline'; " +
		"connect-src 'self' http://127.0.0.1:* http://localhost:* https:; " +
		"frame-src https: http://127.0.0.1:* http://localhost:*; " +
		"img-src 'self' data: https:; " +
		"object-src 'none'; " +
		"base-uri 'self'"
}

// inlineHashes returns the CSP sources of the inline scripts and event handlers of a page, each once, in the order of
// the page.
func inlineHashes(page []byte) []string {
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil // only for a reader that fails: any bytes are a page. Without hashes nothing inline runs
	}
	var hashes []string
	add := func(code string) {
		sum := sha256.Sum256([]byte(code))
		source := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !slices.Contains(hashes, source) {
			hashes = append(hashes, source)
		}
	}
	for node := range root.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		for _, attr := range node.Attr {
			if strings.HasPrefix(attr.Key, "on") && attr.Namespace == "" {
				add(attr.Val)
			}
		}
		if node.Data == "script" && isInlineCode(node) {
			add(text(node))
		}
	}
	return hashes
}

// isInlineCode reports whether a browser would run what stands in a script element, or follow it (an import map).
func isInlineCode(script *html.Node) bool {
	kind := ""
	for _, attr := range script.Attr {
		switch attr.Key {
		case "src", "href": // href is the src of a script in an SVG
			return false
		case "type":
			kind = strings.ToLower(strings.TrimSpace(attr.Val))
		}
	}
	switch kind {
	case "", "module", "importmap", "speculationrules":
		return true
	}
	return strings.HasSuffix(kind, "javascript") || strings.HasSuffix(kind, "ecmascript")
}

func text(node *html.Node) string {
	var b strings.Builder
	for child := range node.ChildNodes() {
		if child.Type == html.TextNode {
			b.WriteString(child.Data)
		}
	}
	return b.String()
}
