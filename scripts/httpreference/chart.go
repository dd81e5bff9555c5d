package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"
)

var (
	white = color.RGBA{255, 255, 255, 255}
	ink   = color.RGBA{34, 34, 34, 255}
	bars  = [...]color.RGBA{
		{86, 120, 160, 255}, {70, 140, 90, 255}, {200, 160, 60, 255}, {200, 110, 60, 255}, {170, 60, 70, 255},
	}
)

const (
	chartWidth, chartHeight = 220, 120
	pixel                   = 2 // size of one dot of a glyph
)

// classChart draws the number of registered status codes per class.
func classChart(counts map[int]int) *image.Paletted {
	palette := color.Palette{white, ink}
	for _, c := range bars {
		palette = append(palette, c)
	}
	img := image.NewPaletted(image.Rect(0, 0, chartWidth, chartHeight), palette)
	const baseline, room = chartHeight - 18, chartHeight - 40
	highest := slices.Max([]int{counts[1], counts[2], counts[3], counts[4], counts[5]})
	for i, c := range bars {
		left, height := 10+i*42, counts[i+1]*room/highest
		bar := image.Rect(left, baseline-height, left+32, baseline)
		draw.Draw(img, bar, image.NewUniform(c), image.Point{}, draw.Src)
		drawText(img, left+5, baseline+4, fmt.Sprintf("%dxx", i+1))
		drawText(img, left+5, baseline-height-14, fmt.Sprint(counts[i+1]))
	}
	draw.Draw(img, image.Rect(6, baseline, chartWidth-6, baseline+1), image.NewUniform(ink), image.Point{}, draw.Src)
	return img
}

// encodeChart disables compression, so that the output does not depend on the Go release.
func encodeChart(img image.Image) ([]byte, error) {
	var buf bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.NoCompression}
	err := encoder.Encode(&buf, img)
	return buf.Bytes(), err
}

// glyphs are 3 by 5 dots, row by row.
var glyphs = map[rune]string{
	'0': "#### ## ## ####",
	'1': " #  #  #  #  # ",
	'2': "###  #####  ###",
	'3': "###  ####  ####",
	'4': "# ## ####  #  #",
	'5': "####  ###  ####",
	'6': "####  #### ####",
	'7': "###  #  #  #  #",
	'8': "#### ##### ####",
	'9': "#### ####  ####",
	'x': "   # # #  # # #",
}

func drawText(img *image.Paletted, x, y int, text string) {
	for _, r := range text {
		for i, dot := range glyphs[r] {
			if dot == '#' {
				corner := image.Pt(x+i%3*pixel, y+i/3*pixel)
				draw.Draw(img, image.Rectangle{corner, corner.Add(image.Pt(pixel, pixel))}, image.NewUniform(ink), image.Point{},
					draw.Src)
			}
		}
		x += 4 * pixel
	}
}
