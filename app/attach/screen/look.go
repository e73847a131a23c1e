package screen

import (
	"image/color"

	"github.com/charmbracelet/x/ansi"

	"chatwright.dev/tray/app/attach/markdown"
	"chatwright.dev/tray/app/attach/transcript"
)

// look is what a part of the screen stands for. Colours come with a word or a sign, never alone.
type look int

const (
	faint look = iota
	strong
	accent
	warn
	wrong
)

// look is the style of a part on this background. The colours are those of the console.
func (s *State) look(l look) ansi.Style {
	pick := func(light, dark uint32) ansi.Style {
		if s.Dark {
			light = dark
		}
		return ansi.Style{}.ForegroundColor(color.RGBA{uint8(light >> 16), uint8(light >> 8), uint8(light), 0xff})
	}
	switch l {
	case strong:
		return ansi.Style{}.Bold()
	case accent:
		return pick(0x0f766e, 0x2dd4bf)
	case warn:
		return pick(0xb45309, 0xfbbf24)
	case wrong:
		return pick(0xbe123c, 0xfb7185)
	}
	return pick(0x64748b, 0x94a3b8)
}

func markLook(k transcript.Kind) look {
	switch k {
	case transcript.Said:
		return accent
	case transcript.Failed:
		return wrong
	}
	return faint
}

// spanStyle is how text of a style looks in an entry of that kind; empty for text that is plain.
func (s *State) spanStyle(k transcript.Kind, m markdown.Style) (style ansi.Style) {
	switch {
	case k == transcript.Thought || k == transcript.Noted || m&(markdown.Faint|markdown.Quote) != 0:
		style = s.look(faint)
	case k == transcript.Failed:
		style = s.look(wrong)
	case m&markdown.Code != 0:
		style = s.look(accent)
	}
	if k == transcript.Said || m&markdown.Strong != 0 {
		style = style.Bold()
	}
	if m&markdown.Emphasis != 0 || k == transcript.Thought {
		style = style.Italic(true)
	}
	if m&markdown.Link != 0 {
		style = style.Underline(true)
	}
	if m&markdown.Struck != 0 {
		style = style.Strikethrough(true)
	}
	return style
}
