package icon

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"

	"github.com/srwiley/oksvg"
	"github.com/srwiley/rasterx"
)

// The icon of the program, as application menus, installers and file managers show it: in colour, unlike those of the
// tray. It is drawn when packages are made and is in no program but the Windows one, which carries it as a resource.
const (
	AppSource      = "app.svg"
	AppSourceMacOS = "app-macos.svg" // on the plate, and with the margins, that the Dock gives every program
)

// AppSizes are the widths that icon themes on Linux look for; the SVG itself serves every other.
func AppSizes() []int { return []int{16, 24, 32, 48, 64, 128, 256} }

// appICOSizes are those that Windows asks for, from lists to the largest tiles.
func appICOSizes() []int { return []int{16, 20, 24, 32, 40, 48, 64, 128, 256} }

// Picture draws an SVG in its own colours and encodes it as a PNG of size × size. What its SVG reader does not know is
// an error, not left out.
func Picture(svg []byte, size int) ([]byte, error) {
	drawing, err := oksvg.ReadIconStream(bytes.NewReader(svg), oksvg.StrictErrorMode)
	if err != nil {
		return nil, fmt.Errorf("reading the drawing: %w", err)
	}
	if len(drawing.SVGPaths) == 0 || drawing.ViewBox.W <= 0 {
		return nil, errors.New("reading the drawing: there is nothing in it")
	}
	drawing.SetTarget(0, 0, float64(size), float64(size))
	for i := range drawing.SVGPaths { // the reader scales paths to the target, but not their strokes
		drawing.SVGPaths[i].LineWidth *= float64(size) / drawing.ViewBox.W
	}
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	scanner := rasterx.NewScannerGV(size, size, img, img.Bounds())
	drawing.Draw(rasterx.NewDasher(size, size, scanner), 1)
	return encode(img)
}

// AppICO draws an SVG in the sizes of a Windows program and packs them into one icon.
func AppICO(svg []byte) ([]byte, error) {
	return packICO(appICOSizes(), func(size int) ([]byte, error) { return Picture(svg, size) })
}

// icnsTypes names what an Apple icon holds: each width, plain and for screens of double density. The names are those of
// PNG entries; the older ones hold packed pixels.
func icnsTypes() []struct {
	name string
	size int
} {
	return []struct {
		name string
		size int
	}{
		{"icp4", 16}, {"icp5", 32}, {"ic11", 32}, {"ic12", 64}, {"ic07", 128}, {"ic13", 256}, {"ic08", 256},
		{"ic14", 512}, {"ic09", 512}, {"ic10", 1024},
	}
}

// ICNS draws an SVG in the sizes of a macOS program and packs them into one icon.
func ICNS(svg []byte) ([]byte, error) {
	var body []byte
	drawn := map[int][]byte{}
	for _, entry := range icnsTypes() {
		if drawn[entry.size] == nil {
			data, err := Picture(svg, entry.size)
			if err != nil {
				return nil, err
			}
			drawn[entry.size] = data
		}
		body = appendChunk(body, entry.name, drawn[entry.size])
	}
	return appendChunk(nil, "icns", body), nil
}

// appendChunk appends a chunk of an Apple icon: name, length with this header, data.
func appendChunk(out []byte, name string, data []byte) []byte {
	out = append(out, name...)
	out = binary.BigEndian.AppendUint32(out, uint32(8+len(data)))
	return append(out, data...)
}

func encode(img image.Image) ([]byte, error) {
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("encoding the drawing: %w", err)
	}
	return out.Bytes(), nil
}
