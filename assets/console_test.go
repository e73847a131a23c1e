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
	page, err := html.Parse(strings.NewReader(files["index.html"]))
	if err != nil {
		t.Fatal(err)
	}
	for node := range page.Descendants() {
		if node.Type == html.TextNode && strings.TrimSpace(node.Data) != "" &&
			!slices.Contains([]string{"title", "h1", "noscript"}, node.Parent.Data) { // the name is painted before a script ran
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
	case key == "href" && element == "a" && strings.HasPrefix(attr.Val, "#"): // a place in the page itself
	case key == "src", key == "href", key == "srcset":
		name, ours := strings.CutPrefix(attr.Val, "/console/")
		if _, exists := files[name]; !ours || !exists {
			t.Errorf("<%s %s=%q>: want an absolute path of a file of the console", element, key, attr.Val)
		}
	}
}

func TestConsoleModulesAreKnownToThePage(t *testing.T) {
	files := consoleFiles(t)
	for name, data := range files {
		if path.Ext(name) != ".js" {
			continue
		}
		for _, module := range imported(data) {
			if files[module] == "" {
				t.Errorf("%s imports %q, which is not here", name, module)
			}
		}
		if name != "console.js" && !reached(files, "console.js", true)[name] {
			t.Errorf("%s is in no room", name)
		}
	}
	for name := range reached(files, "console.js", false) {
		if !strings.Contains(files["index.html"], `"/console/`+name+`"`) {
			t.Errorf("%s is not preloaded: the page would wait for it one round trip later", name)
		}
	}
}

var imports = regexp.MustCompile(`(from|import\() ?'\./([^']+)'`)

// imported lists the modules that the code of one names.
func imported(code string) (modules []string) {
	for _, match := range imports.FindAllStringSubmatch(code, -1) {
		modules = append(modules, match[2])
	}
	return modules
}

// reached is the set of modules that one runs at once or, with rooms, in time.
func reached(files map[string]string, first string, rooms bool) map[string]bool {
	seen := map[string]bool{}
	for queue := []string{first}; len(queue) > 0; queue = queue[1:] {
		if name := queue[0]; !seen[name] {
			seen[name] = true
			for _, match := range imports.FindAllStringSubmatch(files[name], -1) {
				if rooms || match[1] == "from" {
					queue = append(queue, match[2])
				}
			}
		}
	}
	return seen
}

// Foreign text enters the page as text only, and nothing is fetched by an absolute URL.
func TestConsoleCodeMakesNoMarkupAndNamesNoOtherHost(t *testing.T) {
	// A single property of a style may be set, which the policy lets a script do; a whole style as text may not.
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|` +
		`\beval\b|new Function|setTimeout\(['"\x60]|'style'|\.style\b(?:[^.]|\.[^s])|@import|url\(|javascript:`)
	urls := regexp.MustCompile(`(?:https?:)?//[A-Za-z0-9$\[][^'"\x60\s]*`)
	allowed := map[string][]string{
		"texts.js":  {"https://chatwright.dev"},     // a link to follow
		"format.js": {"http://${addr.replace(/^(0"}, // the address that is shown
		"mark.svg":  {"http://www.w3.org/2000/svg"}, // the namespace
		"charts.js": {"http://www.w3.org/2000/svg"},
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
