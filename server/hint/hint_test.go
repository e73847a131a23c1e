package hint_test

import (
	"fmt"
	"io/fs"
	"testing"

	"errors"

	"chatwright.dev/tray/server/hint"
)

func TestHintSurvivesWrappingAndKeepsTheCause(t *testing.T) {
	err := fmt.Errorf("reading settings: %w", hint.With(fs.ErrNotExist, "create the file"))
	if got, want := err.Error(), "reading settings: file does not exist"; got != want {
		t.Errorf("text: got %q, want %q", got, want)
	}
	if got, want := hint.Of(err), "create the file"; got != want {
		t.Errorf("hint: got %q, want %q", got, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}

func TestTheOuterHintWins(t *testing.T) {
	err := hint.With(hint.With(fs.ErrNotExist, "inner"), "outer")
	if got := hint.Of(err); got != "outer" {
		t.Errorf("got %q, want outer", got)
	}
}

func TestNilStaysNil(t *testing.T) {
	if hint.With(nil, "x") != nil {
		t.Error("a nil error became one")
	}
	if hint.Of(nil) != "" || hint.Of(fs.ErrNotExist) != "" {
		t.Error("a hint out of nowhere")
	}
}
