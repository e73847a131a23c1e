package icon_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/assets/icon"
)

func source(name string) ([]byte, error) { return os.ReadFile(name) }

// The pictures in this folder are those that the sources draw. Pixels are compared, not files: another version of Go
// may pack the same picture differently, and another processor may round a shade differently.
func TestThePicturesAreWhatTheSourcesDraw(t *testing.T) {
	drawn, err := icon.DrawAll(source)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range drawn {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("%v (run: go generate ./assets/...)", err)
		}
		if bytes.Equal(got, want) {
			continue
		}
		if a, b := pictures(t, name, got), pictures(t, name, want); !alike(a, b) {
			t.Errorf("%s is not what its source draws; run: go generate ./assets/...", name)
		}
	}
	for _, pattern := range []string{"*.png", "*.ico"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if drawn[file] == nil {
				t.Errorf("%s is drawn by no source", file)
			}
		}
	}
}

func TestDrawingTwiceGivesTheSameBytes(t *testing.T) {
	first, err := icon.DrawAll(source)
	if err != nil {
		t.Fatal(err)
	}
	second, err := icon.DrawAll(source)
	if err != nil {
		t.Fatal(err)
	}
	for name := range first {
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s differs from one drawing to the next", name)
		}
	}
}

func TestASourceThatCannotBeDrawnIsAnError(t *testing.T) {
	for name, svg := range map[string]string{
		"no SVG":           "a text",
		"an empty drawing": `<svg viewBox="0 0 32 32"></svg>`,
		"not well-formed":  `<svg viewBox="0 0 32 32"><path d="M0 0`,
		"an unknown shape": `<svg viewBox="0 0 32 32"><blob/></svg>`,
	} {
		if _, err := icon.Draw([]byte(svg), true, 16); err == nil {
			t.Errorf("%s: drawn without an error", name)
		}
	}
	_, err := icon.DrawAll(func(string) ([]byte, error) { return nil, os.ErrNotExist })
	if err == nil || !strings.Contains(err.Error(), os.ErrNotExist.Error()) {
		t.Errorf("a missing source: got %v", err)
	}
}

// pictures returns the images in a PNG or ICO file.
func pictures(t *testing.T, name string, data []byte) (all []image.Image) {
	t.Helper()
	parts := [][]byte{data}
	if strings.HasSuffix(name, ".ico") {
		parts = nil
		for i := range int(binary.LittleEndian.Uint16(data[4:])) {
			entry := data[6+16*i:]
			length, offset := binary.LittleEndian.Uint32(entry[8:]), binary.LittleEndian.Uint32(entry[12:])
			parts = append(parts, data[offset:offset+length])
		}
	}
	for _, part := range parts {
		img, err := png.Decode(bytes.NewReader(part))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, img)
	}
	return all
}

// alike allows a shade of difference, of the 65,535 that colours are compared in.
func alike(a, b []image.Image) bool {
	const shade = 3 * 257
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Bounds() != b[i].Bounds() {
			return false
		}
		for y := range a[i].Bounds().Dy() {
			for x := range a[i].Bounds().Dx() {
				r1, g1, b1, a1 := a[i].At(x, y).RGBA()
				r2, g2, b2, a2 := b[i].At(x, y).RGBA()
				for _, pair := range [][2]uint32{{r1, r2}, {g1, g2}, {b1, b2}, {a1, a2}} {
					if max(pair[0], pair[1])-min(pair[0], pair[1]) > shade {
						return false
					}
				}
			}
		}
	}
	return true
}
