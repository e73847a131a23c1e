package icon_test

import (
	"bytes"
	"encoding/binary"
	"image/png"
	"testing"

	"chatwright.dev/tray/assets/icon"
)

func appSource(t *testing.T, name string) []byte {
	t.Helper()
	svg, err := source(name)
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

func TestTheProgramsIconIsDrawnInColourAtEverySize(t *testing.T) {
	for _, name := range []string{icon.AppSource, icon.AppSourceMacOS} {
		svg := appSource(t, name)
		for _, size := range icon.AppSizes() {
			data, err := icon.Picture(svg, size)
			if err != nil {
				t.Fatalf("%s at %d: %v", name, size, err)
			}
			img, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if img.Bounds().Dx() != size || img.Bounds().Dy() != size {
				t.Errorf("%s at %d: got a picture of %v", name, size, img.Bounds())
			}
			if _, _, _, a := img.At(0, 0).RGBA(); a != 0 {
				t.Errorf("%s at %d: the corner is painted", name, size)
			}
			// Left of the tick there is the bubble on one drawing and the plate on the other: both of the brand's green.
			r, g, b, _ := img.At(size*5/32, size/2).RGBA()
			if got, want := [3]uint32{r >> 8, g >> 8, b >> 8}, [3]uint32{0x0f, 0x76, 0x6e}; got != want {
				t.Errorf("%s at %d: got %x left of the tick, want %x", name, size, got, want)
			}
		}
	}
}

// The entries say what the pictures are: sizes from the pictures themselves, lengths that lead from one to the next and
// end with the file.
func TestAnAppleIconHoldsPicturesOfTheSizesItNames(t *testing.T) {
	data, err := icon.ICNS(appSource(t, icon.AppSourceMacOS))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(data[:4]); got != "icns" {
		t.Fatalf("got %q at the start, want icns", got)
	}
	if got := binary.BigEndian.Uint32(data[4:]); int(got) != len(data) {
		t.Fatalf("the header says %d bytes of %d", got, len(data))
	}
	want := map[string]int{"icp4": 16, "icp5": 32, "ic11": 32, "ic12": 64, "ic07": 128, "ic13": 256, "ic08": 256,
		"ic14": 512, "ic09": 512, "ic10": 1024}
	for rest := data[8:]; len(rest) > 0; {
		name, size := string(rest[:4]), binary.BigEndian.Uint32(rest[4:])
		config, err := png.DecodeConfig(bytes.NewReader(rest[8:size]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if config.Width != want[name] {
			t.Errorf("%s: got a width of %d, want %d", name, config.Width, want[name])
		}
		delete(want, name)
		rest = rest[size:]
	}
	if len(want) > 0 {
		t.Errorf("not in the icon: %v", want)
	}
}

func TestAWindowsIconHoldsPicturesUpTo256(t *testing.T) {
	data, err := icon.AppICO(appSource(t, icon.AppSource))
	if err != nil {
		t.Fatal(err)
	}
	largest := 0
	for i := range int(binary.LittleEndian.Uint16(data[4:])) {
		entry := data[6+16*i:]
		size, offset := binary.LittleEndian.Uint32(entry[8:]), binary.LittleEndian.Uint32(entry[12:])
		config, err := png.DecodeConfig(bytes.NewReader(data[offset : offset+size]))
		if err != nil {
			t.Fatalf("picture %d: %v", i, err)
		}
		if got, want := int(entry[0]), config.Width%256; got != want {
			t.Errorf("picture %d: the entry says %d, want %d", i, got, want)
		}
		largest = max(largest, config.Width)
	}
	if largest != 256 {
		t.Errorf("the largest picture is %d wide, want 256", largest)
	}
}
