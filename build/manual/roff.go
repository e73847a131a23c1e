package manual

import (
	"fmt"
	"strings"
)

// Man writes the manual as a page for man. It carries no date: the same program has the same page, whenever it is made.
func (m Manual) Man() []byte {
	p := &page{}
	name := m.Root.Name()
	p.line(`.\" Written from the commands of the program: go generate ./cmd/...`)
	p.line(fmt.Sprintf(`.TH %s 1 "" "%s %s" "User Commands"`, upper(name), name, m.Version))
	p.heading("NAME")
	p.line(text(name) + ` \- ` + text(strings.TrimRight(m.Root.Short, ".")))
	sections := m.sections()
	p.heading("SYNOPSIS")
	for i, s := range sections {
		if s.usage == "" {
			continue
		}
		if i > 0 {
			p.line(".br")
		}
		p.line(usageLine(s))
	}
	p.heading("DESCRIPTION")
	p.section(sections[0])
	p.heading("COMMANDS")
	for _, s := range sections[1:] {
		if s.usage == "" {
			continue
		}
		p.line(".SS " + quoted(strings.TrimPrefix(s.name, name+" ")))
		p.line(usageLine(s))
		p.line(".PP")
		p.section(s)
	}
	p.settings(m.Settings)
	p.files(m.Files)
	for _, s := range sections[1:] { // topics
		if s.usage == "" {
			p.heading(upper(strings.ReplaceAll(strings.TrimPrefix(s.name, name+" "), "-", " ")))
			p.section(s)
		}
	}
	if m.Homepage != "" {
		p.heading("SEE ALSO")
		p.line(text(m.Homepage))
	}
	return []byte(p.out.String())
}

// A page is roff that is being written.
type page struct{ out strings.Builder }

func (p *page) line(roff string)     { p.out.WriteString(roff + "\n") }
func (p *page) heading(title string) { p.line(".SH " + quoted(title)) }

func (p *page) section(s section) {
	p.paragraphs(s.text)
	if len(s.examples) > 0 {
		p.line(".PP")
		p.verbatim(s.examples)
	}
	for _, f := range s.flags {
		p.entry(f.flag, f.usage)
	}
	if s.settings {
		p.line(".PP")
		p.line(`It takes the flags under \fBSETTINGS\fP as well.`)
	}
}

// paragraphs writes a text the way help shows it: what is indented, or laid out with spaces, keeps its lines.
func (p *page) paragraphs(body string) {
	for i, paragraph := range strings.Split(body, "\n\n") {
		if i > 0 {
			p.line(".PP")
		}
		lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
		if laidOut(lines) {
			p.verbatim(lines)
			continue
		}
		for _, line := range lines {
			p.line(text(strings.TrimSpace(line)))
		}
	}
}

// laidOut reports whether the lines of a paragraph are a table or an example.
func laidOut(lines []string) bool {
	for _, line := range lines {
		if strings.HasPrefix(line, "\t") || strings.Contains(line, "   ") {
			return true
		}
	}
	return false
}

func (p *page) verbatim(lines []string) {
	p.line(".RS 4\n.nf")
	for _, line := range lines {
		p.line(text(strings.TrimSpace(line)))
	}
	p.line(".fi\n.RE")
}

func (p *page) entry(term, meaning string) {
	p.line(".TP")
	p.line(`\fB` + text(term) + `\fP`)
	p.line(text(sentence(meaning)))
}

func (p *page) settings(settings []Setting) {
	if len(settings) == 0 {
		return
	}
	p.heading("SETTINGS")
	p.line(text("A flag wins over an environment variable, which wins over the settings file, which wins over the default. " +
		"Keys of the file are written last."))
	for _, s := range settings {
		p.line(".TP")
		p.line(`\fB` + text(strings.Join(s.ways(), ", ")) + `\fP`)
		p.line(text(sentence(s.usage())))
	}
}

func (p *page) files(files []File) {
	if len(files) == 0 {
		return
	}
	p.heading("FILES")
	for _, f := range files {
		p.entry(f.Path, f.Usage)
	}
}

// usageLine is the usage with the command itself in bold.
func usageLine(s section) string {
	rest := strings.TrimPrefix(s.usage, s.name)
	return `\fB` + text(s.name) + `\fP` + text(rest)
}

// text escapes what roff would read as its own: backslashes, hyphens that must stay hyphens when they are copied to a
// shell, and a dot or an apostrophe that begins a line.
func text(plain string) string {
	roff := strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(plain)
	if strings.HasPrefix(roff, ".") || strings.HasPrefix(roff, "'") {
		roff = `\&` + roff
	}
	return roff
}

// quoted is text as one argument of a request.
func quoted(plain string) string { return `"` + strings.ReplaceAll(text(plain), `"`, `\(dq`) + `"` }

func upper(name string) string { return strings.ToUpper(name) }
