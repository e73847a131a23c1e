package attach

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"chatwright.dev/tray/app/attach/safetext"
	"chatwright.dev/tray/app/attach/screen"
)

// press does what a key is for.
func (m *model) press(key tea.KeyPressMsg) tea.Cmd {
	name := key.String()
	if m.state.Search.Typing {
		m.pressInSearch(name, key.Text)
		return nil
	}
	if cmd, ok := m.pressGlobal(name); ok {
		return cmd
	}
	if m.pressInEditor(name) {
		return nil
	}
	if text := safetext.Text(key.Text); text != "" {
		m.state.Notice = ""
		m.state.Editor.Insert(text)
	}
	return nil
}

// pressGlobal does what is not about the message that is being written.
func (m *model) pressGlobal(name string) (cmd tea.Cmd, ok bool) {
	switch name {
	case "enter":
		return m.enter(), true
	case "ctrl+d":
		return tea.Quit, true
	case "ctrl+c":
		return m.ctrlC(), true
	case "ctrl+z":
		return tea.Suspend, true
	case "ctrl+l":
		return tea.ClearScreen, true
	case "ctrl+t":
		m.state.Fold = !m.state.Fold
	case "ctrl+f":
		m.state.Search = screen.Search{Typing: true}
	case "ctrl+p":
		m.findAgain(true)
	case "ctrl+n":
		m.findAgain(false)
	case "esc":
		m.state.Notice = ""
		m.state.EndSearch()
	case "pgup":
		m.state.Page(false)
	case "pgdown":
		m.state.Page(true)
	case "shift+up":
		m.state.Scroll(-1)
	case "shift+down":
		m.state.Scroll(1)
	case "ctrl+home":
		m.state.Begin()
	case "ctrl+end":
		m.state.End()
	default:
		return nil, false
	}
	return nil, true
}

func (m *model) pressInEditor(name string) bool {
	e := &m.state.Editor
	do, ok := map[string]func(){
		"alt+enter": func() { e.Insert("\n") }, "shift+enter": func() { e.Insert("\n") }, "ctrl+j": func() { e.Insert("\n") },
		"tab": func() { e.Insert("\t") },
		"up":  e.Up, "down": e.Down, "left": e.Left, "right": e.Right, "ctrl+b": e.Left,
		"home": e.Home, "ctrl+a": e.Home, "end": e.End, "ctrl+e": e.End,
		"alt+b": e.WordLeft, "ctrl+left": e.WordLeft, "alt+left": e.WordLeft,
		"alt+f": e.WordRight, "ctrl+right": e.WordRight, "alt+right": e.WordRight,
		"backspace": e.Backspace, "ctrl+h": e.Backspace, "delete": e.Delete,
		"ctrl+w": e.DeleteWord, "alt+backspace": e.DeleteWord, "ctrl+u": e.DeleteToBegin, "ctrl+k": e.DeleteToEnd,
	}[name]
	if ok {
		do()
	}
	return ok
}

func (m *model) pressInSearch(name, text string) {
	search := &m.state.Search
	switch name {
	case "enter":
		search.Typing = false
		if search.Text == "" {
			m.state.EndSearch()
			return
		}
		m.state.FindAgain(true)
	case "esc", "ctrl+c", "ctrl+f":
		m.state.EndSearch()
	case "backspace", "ctrl+h":
		if runes := []rune(search.Text); len(runes) > 0 {
			search.Text = string(runes[:len(runes)-1])
		}
	case "ctrl+u":
		search.Text = ""
	default:
		search.Text += safetext.Line(text)
	}
}

func (m *model) findAgain(up bool) {
	if m.state.Search.Text == "" {
		m.state.Search = screen.Search{Typing: true}
		return
	}
	m.state.FindAgain(up)
}

func (m *model) paste(text string) {
	if m.state.Search.Typing {
		m.state.Search.Text += safetext.Line(text)
		return
	}
	m.state.Editor.Insert(text)
}

// ctrlC interrupts what runs; else it takes away what was written.
func (m *model) ctrlC() tea.Cmd {
	switch {
	case m.state.Transcript.Running() && m.state.Link == screen.Connected:
		return m.interrupt()
	case m.state.Editor.Text() != "":
		m.state.Editor.Set("")
	default:
		m.state.Notice = "Ctrl-D leaves; the session goes on"
	}
	return nil
}

// enter sends a message, or does what a line that begins with a slash says.
func (m *model) enter() tea.Cmd {
	text := strings.TrimSpace(m.state.Editor.Text())
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.Contains(text, "\n") {
		return m.send()
	}
	word, rest, _ := strings.Cut(text, " ")
	do, ok := m.slash(word, strings.TrimSpace(rest))
	if !ok {
		m.state.Notice = "there is no " + word + "; /help lists what there is"
		return nil
	}
	m.state.Notice = ""
	m.state.Editor.Set("") // and not taken: the arrow keys go back to messages
	return do()
}

// help lists what is not obvious.
const help = `Enter sends, Alt-Enter or Ctrl-J begins a new line, Up and Down go back to what was said.
PgUp, PgDn, Shift-Up, Shift-Down scroll; Ctrl-Home and Ctrl-End go to the begin and the end.
Ctrl-F finds, Ctrl-P and Ctrl-N go to the one before and the next. Ctrl-T shows what the model thought, or hides it.
Ctrl-C interrupts a running turn. Ctrl-D leaves; the session goes on.
/steer TEXT  says something while a turn runs: what the model was saying is cut off there
/interrupt   ends the turn that runs
/find TEXT   finds text, from the end
/rename NAME gives the session a name; none: it is named after its first words
/resume      carries on a session that has ended, in a new one
/thoughts    shows what the model thought, or hides it
/detach      leaves; the session goes on
Two slashes begin a message that begins with one.`

// slash finds what a word that begins with a slash does.
func (m *model) slash(word, rest string) (do func() tea.Cmd, ok bool) {
	do, ok = map[string]func() tea.Cmd{
		"/detach":    func() tea.Cmd { return tea.Quit },
		"/quit":      func() tea.Cmd { return tea.Quit },
		"/exit":      func() tea.Cmd { return tea.Quit },
		"/resume":    m.resume,
		"/interrupt": m.interrupt,
		"/thoughts":  func() tea.Cmd { m.state.Fold = !m.state.Fold; return nil },
		"/help": func() tea.Cmd {
			m.state.Transcript.Note(help)
			m.state.End()
			return nil
		},
		"/find": func() tea.Cmd {
			m.state.Search = screen.Search{Text: rest, Typing: rest == ""}
			if rest != "" {
				m.state.FindAgain(true)
			}
			return nil
		},
		"/rename": func() tea.Cmd {
			id := m.session.ID
			return m.ask(func(ctx context.Context) answered { return failing(m.daemon.RenameSession(ctx, id, rest)) })
		},
		"/steer": func() tea.Cmd {
			id := m.session.ID
			return m.ask(func(ctx context.Context) answered { return failing(m.daemon.Steer(ctx, id, rest)) })
		},
	}[word]
	return do, ok
}

// failing shows err, if there is one.
func failing(err error) answered {
	return func(m *model) tea.Cmd {
		if err != nil {
			m.fails(err)
		}
		return nil
	}
}
