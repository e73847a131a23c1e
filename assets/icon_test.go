package assets_test

import (
	"bytes"
	"encoding/binary"
	"image"
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

// look.md: it must read at 16 px in one colour, light and dark. A test cannot look, but it can see when two drawings
// become the same blur, or one vanishes into the panel.
func TestTheIconsAreToldApartAt16PixelsOnBothGrounds(t *testing.T) {
	for _, dark := range []bool{true, false} {
		small := map[assets.IconName]*image.NRGBA{}
		for _, name := range iconNames {
			img := image.NewNRGBA(image.Rect(0, 0, 16, 16))
			source := decodePNG(t, assets.Icon(name, dark))
			draw.BiLinear.Scale(img, img.Bounds(), source, source.Bounds(), draw.Src, nil)
			small[name] = img
			strong := 0
			for i := 0; i < len(img.Pix); i += 4 {
				r, alpha := img.Pix[i], img.Pix[i+3]
				if alpha > 160 {
					strong++
					if light := r > 128; light != dark {
						t.Fatalf("%s for a dark panel %v is drawn in %v", name, dark, img.Pix[i:i+4])
					}
				}
			}
			if strong < 40 {
				t.Errorf("%s, dark %v: only %d of 256 pixels are strong", name, dark, strong)
			}
		}
		for i, a := range iconNames {
			for _, b := range iconNames[i+1:] {
				differ := 0
				for p := 3; p < len(small[a].Pix); p += 4 {
					if d := int(small[a].Pix[p]) - int(small[b].Pix[p]); d > 90 || d < -90 {
						differ++
					}
				}
				if differ < 16 {
					t.Errorf("%s and %s differ clearly in only %d of 256 pixels", a, b, differ)
				}
			}
		}
	}
}
