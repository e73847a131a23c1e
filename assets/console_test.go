package assets_test

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"chatwright.dev/tray/assets"
)

// maxPageWeight is what the whole console may weigh, uncompressed: it is part of every binary.
const maxPageWeight = 150 << 10

func TestConsoleWeighsLittle(t *testing.T) {
	var sum int
	for name, data := range consoleFiles(t) {
		if len(data) == 0 {
			t.Errorf("%s is empty", name)
		}
		sum += len(data)
	}
	t.Logf("the console weighs %d bytes", sum)
	if sum > maxPageWeight {
		t.Errorf("got a page of %d bytes, want at most %d", sum, maxPageWeight)
	}
}

// security.md 7: the console's policy is 'self' only, no inline, frame-ancestors 'none'.
func TestConsolePolicyAllowsOnlyItsOwnFiles(t *testing.T) {
	for directive := range strings.SplitSeq(assets.ConsolePolicy, "; ") {
		name, sources, _ := strings.Cut(directive, " ")
		if sources != "'self'" && sources != "'none'" {
			t.Errorf("%s: got %s, want 'self' or 'none'", name, sources)
		}
	}
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(assets.ConsolePolicy, want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
}

// security.md 7: no inline script, style or handler; and nothing is loaded from anywhere else.
func TestConsolePageHasNothingInlineAndLoadsOnlyItsOwnFiles(t *testing.T) {
	files := consoleFiles(t)
	for _, name := range []string{"index.html", "sessions.html"} {
		page, err := html.Parse(strings.NewReader(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		checkPage(t, files, page)
	}
}

func checkPage(t *testing.T, files map[string]string, page *html.Node) {
	t.Helper()
	for node := range page.Descendants() {
		if node.Type == html.TextNode && strings.TrimSpace(node.Data) != "" &&
			node.Parent.Data != "title" && node.Parent.Data != "noscript" {
			t.Errorf("text in <%s>: %q: words belong in texts.js", node.Parent.Data, node.Data)
		}
		if node.Type != html.ElementNode {
			continue
		}
		if slices.Contains([]string{"style", "base", "iframe", "object", "embed", "form"}, node.Data) {
			t.Errorf("<%s> has no place in the page", node.Data)
		}
		if node.Data == "script" && (node.FirstChild != nil || len(node.Attr) == 0) {
			t.Error("an inline script")
		}
		for _, attr := range node.Attr {
			checkAttribute(t, files, node.Data, attr)
		}
	}
}

func checkAttribute(t *testing.T, files map[string]string, element string, attr html.Attribute) {
	t.Helper()
	switch key := attr.Key; {
	case key == "style", strings.HasPrefix(key, "on"):
		t.Errorf("<%s %s=…> is inline", element, key)
	case key == "src", key == "href", key == "srcset":
		name, ours := strings.CutPrefix(attr.Val, "/console/")
		if _, exists := files[name]; !ours || !exists {
			t.Errorf("<%s %s=%q>: want an absolute path of a file of the console", element, key, attr.Val)
		}
	}
}

func TestConsoleModulesAreKnownToThePage(t *testing.T) {
	files := consoleFiles(t)
	imports := regexp.MustCompile(`from '([^']+)'`)
	for name, data := range files {
		if path.Ext(name) != ".js" {
			continue
		}
		for _, page := range []string{"index.html", "sessions.html"} {
			if needs(files, page, name) && !strings.Contains(files[page], `"/console/`+name+`"`) {
				t.Errorf("%s is not preloaded: %s would wait for it one round trip later", name, page)
			}
		}
		for _, match := range imports.FindAllStringSubmatch(data, -1) {
			if target, relative := strings.CutPrefix(match[1], "./"); !relative || files[target] == "" {
				t.Errorf("%s imports %q, which is not here", name, match[1])
			}
		}
	}
}

// needs reports whether a page runs a module, by way of those that it runs.
func needs(files map[string]string, page, module string) bool {
	seen := map[string]bool{}
	for queue := []string{strings.TrimSuffix(strings.Replace(page, "index", "console", 1), ".html") + ".js"}; len(queue) > 0; queue = queue[1:] {
		if name := queue[0]; !seen[name] {
			seen[name] = true
			for _, match := range regexp.MustCompile(`from '\./([^']+)'`).FindAllStringSubmatch(files[name], -1) {
				queue = append(queue, match[1])
			}
		}
	}
	return seen[module]
}

// Foreign text enters the page as text only, and nothing is fetched by an absolute URL.
func TestConsoleCodeMakesNoMarkupAndNamesNoOtherHost(t *testing.T) {
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|` +
		`\beval\b|new Function|setTimeout\(['"\x60]|'style'|\.style\b|@import|url\(|javascript:`)
	urls := regexp.MustCompile(`(?:https?:)?//[A-Za-z0-9$\[][^'"\x60\s]*`)
	allowed := map[string][]string{
		"texts.js":    {"https://chatwright.dev"},     // a link to follow
		"overview.js": {"http://${addr.replace(/^(0"}, // the address that is shown
		"mark.svg":    {"http://www.w3.org/2000/svg"}, // the namespace
	}
	for name, data := range consoleFiles(t) {
		if found := banned.FindString(data); found != "" {
			t.Errorf("%s uses %s", name, found)
		}
		for _, found := range urls.FindAllString(data, -1) {
			if !slices.ContainsFunc(allowed[name], func(ok string) bool { return strings.HasPrefix(found, ok) }) {
				t.Errorf("%s names %s", name, found)
			}
		}
	}
}

// look.md: sentence case, no exclamation marks.
func TestConsoleWordsDoNotShout(t *testing.T) {
	for _, literal := range regexp.MustCompile(`'[^'\n]*'`).FindAllString(consoleFiles(t)["texts.js"], -1) {
		if strings.Contains(literal, "!") {
			t.Errorf("%s: no exclamation marks", literal)
		}
	}
}

func consoleFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(assets.Console(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(assets.Console(), name)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
