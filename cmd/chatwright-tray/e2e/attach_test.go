//go:build unix

package e2e_test

import (
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
)

func attachAsAPersonDoes(t *testing.T, s suite) {
	id := s.session("long")
	term := s.attach(id, 80, 24)
	term.sees("Nothing was said yet", "● ready", "New session", id)
	term.types("Tell me" + altEnter + "a lot")
	term.sees("› Tell me\n  a lot\n")
	term.types(enter)
	term.sees("The last words.", "● ready", "scripted-1", " out")
	term.types(pageUp)
	term.await("an earlier part", func(screen string) bool {
		return strings.Contains(screen, "↓ more below") && !strings.Contains(screen, "The last words.")
	})
	term.types(ctrlEnd)
	term.sees("The last words.")
	term.types(ctrlF + "PARAGRAPH 7 ")
	term.sees("Find: PARAGRAPH 7")
	term.types(enter)
	term.sees("found: PARAGRAPH 7", "Paragraph 7 of it.")
	term.types("\x1b") // Esc, which a terminal tells from a sequence by what does not follow
	term.await("no search", func(screen string) bool { return !strings.Contains(screen, "found: ") })
	term.types("/find nowhere at all" + enter)
	term.sees("not found: nowhere at all")
	term.types("/nonsense" + enter)
	term.sees("there is no /nonsense")
	term.types("\x15/rename A better name" + enter)
	term.sees(" A better name ")
	term.types(up) // the last thing that was said
	term.sees("› Tell me\n  a lot\n")
	term.types("\x15\x7f\x15")
	term.types(ctrlD)
	if code := term.ends(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
	left := term.sees("Left session " + id)
	if strings.Contains(left, "Paragraph") {
		t.Errorf("the screen is not as it was before:\n%s", left)
	}
	again := s.attach(id, 80, 24)
	again.sees("The last words.", "A better name", "● ready")
	again.types("/detach" + enter)
	if code := again.ends(); code != 0 {
		t.Errorf("/detach: exit code %d", code)
	}
}

func attachInterrupts(t *testing.T, s suite) {
	id := s.session("stalls")
	term := s.attach(id, 80, 24)
	term.sees("● ready")
	term.types("Begin" + enter)
	term.sees("It begins", "● answering", "Ctrl-C interrupts")
	term.types("too early" + enter)
	term.sees("a turn is running", "› too early")
	term.types(ctrlC)
	term.sees("· Interrupted.", "● ready", "› too early")
	term.types(ctrlC) // nothing runs: it takes away what was written
	term.await("an empty composer", func(screen string) bool { return !strings.Contains(screen, "too early") })
	term.types(ctrlC)
	term.sees("Ctrl-D leaves; the session goes on")
	term.types(ctrlD)
	if code := term.ends(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func attachShowsOthers(_ *testing.T, s suite) {
	id := s.session("thinks")
	first, second := s.attach(id, 80, 24), s.attach(id, 60, 16)
	first.sees("● ready")
	second.sees("● ready")
	first.types("Is it true?" + enter)
	for _, term := range []*terminal{first, second} {
		term.sees("› Is it true?", "▸ Thought, 4 words", "Yes.", "● ready")
	}
	second.types(ctrlT)
	second.sees("▾ Thought, 4 words\n  Hm. Let me see.")
	s.must("session", "send", id, "From a third one")
	for _, term := range []*terminal{first, second} {
		term.sees("› From a third one", "● ready")
	}
}

func attachNarrow(t *testing.T, s suite) {
	id := s.session("plain")
	term := s.attach(id, 40, 12)
	term.sees("● ready")
	term.types("Wide: 日本語日本語日本語日本語日本語日本語 👩‍🚀" + enter)
	term.sees("Hello from the model, naïve 日本語.", "● ready")
	for _, size := range [][2]int{{20, 6}, {120, 40}, {40, 12}} {
		term.resize(size[0], size[1])
		term.await("the whole frame", func(screen string) bool {
			lines := strings.Split(screen, "\n")
			return len(lines) == size[1] && strings.HasPrefix(lines[size[1]-1], " ● ready")
		})
	}
	term.sees("Hello from the model, naïve 日本語.")
	term.types(ctrlD)
	if code := term.ends(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func attachWithoutColour(t *testing.T, s suite) {
	id := s.session("plain")
	cmd := s.command("session", "attach", id)
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1")
	term := open(t, cmd, 80, 24)
	term.sees("● ready")
	term.types("Hello" + enter)
	term.sees("Hello from the model", "● ready")
	for _, colour := range []string{"\x1b[38;", "\x1b[3", "\x1b[9"} {
		for rest := term.written(); ; {
			_, after, ok := strings.Cut(rest, colour)
			if !ok {
				break
			}
			if end := strings.IndexFunc(after, func(r rune) bool { return r >= '@' }); end >= 0 && after[end] == 'm' && colour != "\x1b[3" {
				t.Errorf("a colour was written: %q", colour+after[:end+1])
			}
			rest = after
		}
	}
}

func plainThroughAPipe(t *testing.T, s suite) {
	id := s.session("plain")
	cmd := s.command("session", "attach", id)
	cmd.Stdin = strings.NewReader("first\nsecond\n")
	got := outcomeOf(t, cmd)
	want := "You: first\nModel: Hello from the **model**, naïve 日本語.\nYou: second\nModel: Hello from the **model**, naïve 日本語.\n"
	if got.code != 0 || got.stdout != want {
		t.Errorf("got %+v, want %q", got, want)
	}
	term := open(t, s.command("session", "attach", id, "--plain"), 80, 24)
	term.sees("You: second", "[ready]")
	term.types("third\n")
	term.await("a third answer", func(screen string) bool { return strings.Count(screen, "Model: Hello") == 3 })
	term.types("\x04")
	if code := term.ends(); code != 0 {
		t.Errorf("Ctrl-D: exit code %d", code)
	}
	if written := strings.TrimSuffix(term.written(), theEnd); strings.Contains(written, "\x1b") {
		t.Errorf("it writes sequences: %q", term.written())
	}
	dumb := s.command("session", "attach", id)
	dumb.Env = append(dumb.Environ(), "TERM=dumb")
	term = open(t, dumb, 80, 24)
	term.sees("[ready]")
	term.types("/detach\n")
	if code := term.ends(); code != 0 || strings.Contains(strings.TrimSuffix(term.written(), theEnd), "\x1b") {
		t.Errorf("a dumb terminal: exit code %d, it was sent %q", code, term.written())
	}
	if events := s.events(id); events[len(events)-1].Type != protocol.EventTurnCompleted {
		t.Errorf("the last event is %s", events[len(events)-1].Type)
	}
}
