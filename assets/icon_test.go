package assets_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"testing"

	"golang.org/x/image/draw"

	"chatwright.dev/tray/assets"
)

var iconNames = []assets.IconName{assets.IconIdle, assets.IconBusy, assets.IconWarning, assets.IconStopped}

func decodePNG(t *testing.T, data []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// desktop-facts.md: one pixmap size is sent; 44 to 64 px scales down well, 16 px is not scaled up.
func TestEveryIconIsLargeEnoughForEveryPanel(t *testing.T) {
	for _, name := range iconNames {
		for _, dark := range []bool{true, false} {
			size := decodePNG(t, assets.Icon(name, dark)).Bounds().Size()
			if size.X != size.Y || size.X < 44 {
				t.Errorf("%s, dark %v: got %v, want a square of at least 44", name, dark, size)
			}
		}
	}
}

func TestWindowsIconsHoldAllSizesOfTheNotificationArea(t *testing.T) {
	for _, name := range iconNames {
		for _, dark := range []bool{true, false} {
			ico := assets.IconICO(name, dark)
			if count := binary.LittleEndian.Uint16(ico[4:]); binary.LittleEndian.Uint16(ico[2:]) != 1 || count != 4 {
				t.Fatalf("%s: not an icon of 4 images: % x", name, ico[:6])
			}
			for i, want := range []int{16, 24, 32, 48} {
				entry := ico[6+16*i:]
				length, offset := binary.LittleEndian.Uint32(entry[8:]), binary.LittleEndian.Uint32(entry[12:])
				got := decodePNG(t, ico[offset:offset+length]).Bounds().Dx()
				if got != want || int(entry[0]) != want {
					t.Errorf("%s, image %d: got %d wide, entry says %d, want %d", name, i, got, entry[0], want)
				}
			}
		}
	}
}

func TestAnUnknownIconIsNil(t *testing.T) {
	if assets.Icon("no-such", true) != nil || assets.IconICO("../icon", true) != nil {
		t.Error("got an icon for a name that is none")
	}
}

// on16 is what a panel of that grey shows at 16 pixels: the brightness of each.
func on16(t *testing.T, name assets.IconName, darkPanel bool, ground uint8) (pixels [256]int) {
	t.Helper()
	source := decodePNG(t, assets.Icon(name, darkPanel))
	panel := image.NewRGBA(image.Rect(0, 0, 16, 16))
	draw.Draw(panel, panel.Bounds(), image.NewUniform(color.Gray{Y: ground}), image.Point{}, draw.Src)
	draw.BiLinear.Scale(panel, panel.Bounds(), source, source.Bounds(), draw.Over, nil)
	for i := range pixels {
		pixels[i] = int(color.GrayModel.Convert(panel.At(i%16, i/16)).(color.Gray).Y)
	}
	return pixels
}

// apart counts the pixels whose brightness differs by at least that much.
func apart(a, b [256]int, by int) (n int) {
	for i := range a {
		if d := a[i] - b[i]; d >= by || d <= -by {
			n++
		}
	}
	return n
}

// look.md: it must read at 16 px in one colour, light and dark. A test cannot look, but it can see when two drawings
// become the same blur, or one vanishes into the panel.
func TestTheIconsReadAt16PixelsOnBothGrounds(t *testing.T) {
	const darkGround, lightGround = 36, 245
	for _, c := range []struct {
		name      string
		darkPanel bool
		ground    uint8
		contrast  int
	}{
		{"dark panel", true, darkGround, 100},
		{"light panel", false, lightGround, 100},
		{"a panel that is light although dark was taken for granted", true, lightGround, 40},
	} {
		var empty [256]int
		for i := range empty {
			empty[i] = int(c.ground)
		}
		for i, a := range iconNames {
			drawn := on16(t, a, c.darkPanel, c.ground)
			if got := apart(drawn, empty, c.contrast); got < 32 {
				t.Errorf("%s: %s stands out in only %d of 256 pixels", c.name, a, got)
			}
			for _, b := range iconNames[i+1:] {
				if got := apart(drawn, on16(t, b, c.darkPanel, c.ground), c.contrast*2/3); got < 16 {
					t.Errorf("%s: %s and %s differ in only %d of 256 pixels", c.name, a, b, got)
				}
			}
		}
	}
}
