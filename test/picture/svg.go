package main

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/hinshun/vt10x"
)

// Sizes in SVG units; the text is 14 units high and a cell 8.4 wide.
const (
	cellWidth  = 8.4
	lineHeight = 19
	margin     = 16
)

// run is a piece of a line in one colour.
type run struct {
	text  string
	color string
	bold  bool
	col   int
}

type line []run

// colors are those of the terminal's first 16; the rest is shown as default.
var colors = map[vt10x.Color]string{
	1: "#f47067", 2: "#8ddb8c", 3: "#f69d50", 4: "#6cb6ff", 5: "#dcbdfb", 6: "#76e3ea", 7: "#adbac7",
	8: "#768390", 9: "#ff938a", 10: "#b4f1b4", 11: "#fcd53a",
}

const bold = 1 << 2 // vt10x's attrBold is not exported

// capture returns the screen's lines without empty ones at the end.
func capture(screen vt10x.Terminal) []line {
	screen.Lock()
	defer screen.Unlock()
	cols, rows := screen.Size()
	var lines []line
	last := 0
	for y := range rows {
		var l line
		for x := range cols {
			g := screen.Cell(x, y)
			if g.Char == 0 || g.Char == ' ' && (len(l) == 0 || l[len(l)-1].col+len([]rune(l[len(l)-1].text)) < x) {
				continue
			}
			color, strong := colors[g.FG], g.Mode&bold != 0
			if n := len(l); n > 0 && l[n-1].color == color && l[n-1].bold == strong && l[n-1].col+len([]rune(l[n-1].text)) == x {
				l[n-1].text += string(g.Char)
				continue
			}
			l = append(l, run{string(g.Char), color, strong, x})
		}
		lines = append(lines, l)
		if len(l) > 0 {
			last = y
		}
	}
	return lines[:last+1]
}

// draw returns the lines as an SVG image of a terminal.
func draw(lines []line, cols int) string {
	width, height := float64(cols)*cellWidth+2*margin, len(lines)*lineHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#22272e"/>`+"\n")
	fmt.Fprintf(&b, `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" fill="#cdd9e5" xml:space="preserve">`+"\n")
	for y, l := range lines {
		for _, r := range l {
			text := strings.TrimRight(r.text, " ")
			if text == "" {
				continue
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f"`, margin+float64(r.col)*cellWidth, margin+y*lineHeight+14, float64(len([]rune(text)))*cellWidth)
			if r.color != "" {
				fmt.Fprintf(&b, ` fill="%s"`, r.color)
			}
			if r.bold {
				b.WriteString(` font-weight="bold"`)
			}
			b.WriteString(">")
			_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
			b.WriteString("</text>\n")
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
