// Package icon draws the tray icons from their SVG sources beside it. Only go generate and the tests use it: what it
// draws is kept in this folder too and built into the program, so building needs neither it nor what it imports.
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

// Names are the drawings there are: one NAME.svg each.
func Names() []string { return []string{"idle", "busy", "warning", "stopped"} }

// The inks: the paper colour of dark pages for dark panels, the ink of light pages for light ones.
const (
	inkOnDark  = "#f6f9fc"
	inkOnLight = "#101a2e"
)

// Ink returns the colour to draw in on a dark or on a light panel.
func Ink(darkPanel bool) string {
	if darkPanel {
		return inkOnDark
	}
	return inkOnLight
}

// File names the file of a drawing; the suffix says which panel it is for.
func File(name string, darkPanel bool, extension string) string {
	if darkPanel {
		return name + "-dark." + extension
	}
	return name + "-light." + extension
}

// Size is the width of the PNG: panels send for one size only and scale it down, which 64 survives at every common
// size.
const Size = 64

// ICOSizes are the widths in the ICO: those of a Windows notification area at 100, 150, 200 and 300 %.
func ICOSizes() []int { return []int{16, 24, 32, 48} }

// Draw draws an SVG in one colour and encodes it as a PNG of size × size. What its SVG reader does not know is an
// error, not left out.
func Draw(svg []byte, ink string, size int) ([]byte, error) {
	drawing, err := oksvg.ReadReplacingCurrentColor(bytes.NewReader(svg), ink, oksvg.StrictErrorMode)
	if err != nil {
		return nil, fmt.Errorf("reading the drawing: %w", err)
	}
	if len(drawing.SVGPaths) == 0 || drawing.ViewBox.W <= 0 {
		return nil, errors.New("reading the drawing: there is nothing in it")
	}
	drawing.SetTarget(0, 0, float64(size), float64(size))
	for i := range drawing.SVGPaths { // the reader scales paths to the target, but not how broad they are
		drawing.SVGPaths[i].LineWidth *= float64(size) / drawing.ViewBox.W
	}
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	scanner := rasterx.NewScannerGV(size, size, img, img.Bounds())
	drawing.Draw(rasterx.NewDasher(size, size, scanner), 1)

	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("encoding the drawing: %w", err)
	}
	return out.Bytes(), nil
}

// ICO draws an SVG in all of ICOSizes and packs the PNGs into one Windows icon.
func ICO(svg []byte, ink string) ([]byte, error) {
	const headerSize, entrySize = 6, 16
	sizes := ICOSizes()
	header := make([]byte, headerSize, headerSize+entrySize*len(sizes))
	binary.LittleEndian.PutUint16(header[2:], 1) // an icon, not a cursor
	binary.LittleEndian.PutUint16(header[4:], uint16(len(sizes)))
	var images []byte
	for _, size := range sizes {
		data, err := Draw(svg, ink, size)
		if err != nil {
			return nil, err
		}
		header = append(header, byte(size), byte(size), 0, 0) // width, height, no palette, reserved
		header = binary.LittleEndian.AppendUint16(header, 1)  // planes
		header = binary.LittleEndian.AppendUint16(header, 32) // bits per pixel
		header = binary.LittleEndian.AppendUint32(header, uint32(len(data)))
		header = binary.LittleEndian.AppendUint32(header, uint32(headerSize+entrySize*len(sizes)+len(images)))
		images = append(images, data...)
	}
	return append(header, images...), nil
}

// DrawAll draws every file that belongs in this folder. source returns the content of NAME.svg.
func DrawAll(source func(name string) ([]byte, error)) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range Names() {
		svg, err := source(name + ".svg")
		if err != nil {
			return nil, err
		}
		for _, dark := range []bool{true, false} {
			if files[File(name, dark, "png")], err = Draw(svg, Ink(dark), Size); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if files[File(name, dark, "ico")], err = ICO(svg, Ink(dark)); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return files, nil
}
