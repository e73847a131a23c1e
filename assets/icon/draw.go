// Package icon draws the tray icons from their SVG sources beside it. Only go generate and the tests use it: what it
// draws is kept in this folder too and built into the program, so building needs neither it nor what it imports.
package icon

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"

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

// The rim keeps the light drawing from vanishing where a panel turns out to be light: the drawing for dark panels is
// also the one that is shown while nobody knows. On a dark panel the rim is not seen.
const (
	rimWidth   = 1.3 // in units of the SVG's view box of 32
	rimOpacity = 0.8
)

// Draw draws an SVG for a dark or a light panel and encodes it as a PNG of size × size. What its SVG reader does not
// know is an error, not left out. The drawing for light panels is of one colour, since macOS makes a template of it.
func Draw(svg []byte, darkPanel bool, size int) ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	if darkPanel {
		rim, err := paint(svg, inkOnLight, rimWidth, size)
		if err != nil {
			return nil, err
		}
		draw.DrawMask(img, img.Bounds(), rim, image.Point{}, image.NewUniform(color.Alpha{A: rimOpacity * 255}), image.Point{}, draw.Over)
	}
	ink := inkOnLight
	if darkPanel {
		ink = inkOnDark
	}
	mark, err := paint(svg, ink, 0, size)
	if err != nil {
		return nil, err
	}
	draw.Draw(img, img.Bounds(), mark, image.Point{}, draw.Over)

	return encode(img)
}

// paint draws the SVG in one colour, every shape broader by rim on each side. A shape without a stroke must say
// stroke-width="0": by the SVG standard its stroke, once it gets one, has a width.
func paint(svg []byte, ink string, rim float64, size int) (image.Image, error) {
	drawing, err := oksvg.ReadReplacingCurrentColor(bytes.NewReader(svg), ink, oksvg.StrictErrorMode)
	if err != nil {
		return nil, fmt.Errorf("reading the drawing: %w", err)
	}
	if len(drawing.SVGPaths) == 0 || drawing.ViewBox.W <= 0 {
		return nil, errors.New("reading the drawing: there is nothing in it")
	}
	colour, err := oksvg.ParseSVGColor(ink)
	if err != nil {
		return nil, fmt.Errorf("reading the ink: %w", err)
	}
	drawing.SetTarget(0, 0, float64(size), float64(size))
	scale := float64(size) / drawing.ViewBox.W
	for i := range drawing.SVGPaths {
		path := &drawing.SVGPaths[i]
		if rim > 0 {
			path.SetLineColor(colour)
		}
		path.LineWidth = (path.LineWidth + 2*rim) * scale // the reader scales paths to the target, but not their strokes
	}
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	scanner := rasterx.NewScannerGV(size, size, img, img.Bounds())
	drawing.Draw(rasterx.NewDasher(size, size, scanner), 1)
	return img, nil
}

// ICO draws an SVG in all of ICOSizes and packs the PNGs into one Windows icon.
func ICO(svg []byte, darkPanel bool) ([]byte, error) {
	return packICO(ICOSizes(), func(size int) ([]byte, error) { return Draw(svg, darkPanel, size) })
}

// packICO packs the PNGs that draw makes of each size into one Windows icon.
func packICO(sizes []int, draw func(size int) ([]byte, error)) ([]byte, error) {
	const headerSize, entrySize = 6, 16
	header := make([]byte, headerSize, headerSize+entrySize*len(sizes))
	binary.LittleEndian.PutUint16(header[2:], 1) // an icon, not a cursor
	binary.LittleEndian.PutUint16(header[4:], uint16(len(sizes)))
	var images []byte
	for _, size := range sizes {
		data, err := draw(size)
		if err != nil {
			return nil, err
		}
		// Width, height (a byte each: 256 is written as 0), no palette, reserved.
		header = append(header, byte(size), byte(size), 0, 0)
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
			if files[File(name, dark, "png")], err = Draw(svg, dark, Size); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if files[File(name, dark, "ico")], err = ICO(svg, dark); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return files, nil
}
