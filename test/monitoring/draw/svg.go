package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/podctl/podctl/test/monitoring"
)

// Sizes in SVG units.
const (
	width      = 1200
	gap        = 12
	headHeight = 30
	numberTall = 84
	graphTall  = 190
	columns    = 2
)

// colors are those of the series, in their order.
var colors = []string{"#6cb6ff", "#f69d50", "#8ddb8c", "#dcbdfb", "#f47067", "#76e3ea", "#fcd53a", "#adbac7"}

// chart is a panel with its data, row a row of them.
type chart struct {
	monitoring.Panel
	series []monitoring.Series
}

type row struct {
	title  string
	panels []chart
}

// picture is an SVG in the making.
type picture struct {
	strings.Builder
	from, until time.Time
}

// draw draws rows of panels.
func draw(rows []row, from, until time.Time) string {
	p := &picture{from: from, until: until}
	y := gap
	for _, r := range rows {
		p.text(gap, y+20, 15, "#adbac7", r.title)
		y += headHeight
		y += p.row(r.panels, y)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif">`+
		`<rect width="100%%" height="100%%" fill="#16191d"/>%s</svg>`+"\n", width, y+gap, p.String())
}

// row draws the panels of a row, numbers side by side and graphs in two columns, and
// returns its height.
func (p *picture) row(panels []chart, y int) (height int) {
	x, tall := gap, 0
	for i, c := range panels {
		wide := (width - gap*(columns+1)) / columns
		tall = graphTall
		if c.Single {
			wide, tall = (width-gap*(len(panels)+1))/len(panels), numberTall
		}
		fmt.Fprintf(p, `<rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="#22272e"/>`, x, y+height, wide, tall)
		p.text(x+10, y+height+18, 12, "#cdd9e5", c.Title)
		if c.Single {
			p.number(c, x, y+height, wide)
		} else {
			p.graph(c, x, y+height, wide)
		}
		x += wide + gap
		if !c.Single && i%columns == columns-1 {
			x, height = gap, height+tall+gap
		}
	}
	if x > gap {
		height += tall + gap
	}
	return height
}

// number draws the last value.
func (p *picture) number(c chart, x, y, wide int) {
	text, color := "not known", "#768390"
	if len(c.series) > 0 {
		last := c.series[0].Values[len(c.series[0].Values)-1].Value
		text, color = amount(last, c.Unit), "#8ddb8c"
		if c.Alarming && last > 0 {
			color = "#f47067"
		}
	}
	fmt.Fprintf(p, `<text x="%d" y="%d" font-size="34" text-anchor="middle" fill="%s">%s</text>`, x+wide/2, y+64, color, text)
}

// graph draws a line for each series.
func (p *picture) graph(c chart, x, y, wide int) {
	left, top, right, bottom := float64(x+52), float64(y+30), float64(x+wide-12), float64(y+graphTall-42)
	highest := 0.0
	for _, s := range c.series {
		for _, v := range s.Values {
			if !math.IsNaN(v.Value) {
				highest = math.Max(highest, v.Value)
			}
		}
	}
	if highest == 0 {
		highest = 1
	}
	for _, part := range []float64{0, 0.5, 1} {
		at := bottom - part*(bottom-top)
		fmt.Fprintf(p, `<line x1="%.0f" y1="%.1f" x2="%.0f" y2="%[2]f" stroke="#373e47"/>`, left, at, right)
		fmt.Fprintf(p, `<text x="%.0f" y="%.0f" font-size="10" text-anchor="end" fill="#768390">%s</text>`, left-5, at+4, amount(part*highest, c.Unit))
	}
	span := p.until.Sub(p.from).Seconds()
	fmt.Fprintf(p, `<text x="%.0f" y="%.0f" font-size="10" fill="#768390">-%.0fs</text>`, left, bottom+14, span)
	fmt.Fprintf(p, `<text x="%.0f" y="%.0f" font-size="10" text-anchor="end" fill="#768390">now</text>`, right, bottom+14)
	legend := x + 10
	for i, s := range c.series {
		color := colors[i%len(colors)]
		var path strings.Builder
		var before time.Time
		for _, v := range s.Values {
			if math.IsNaN(v.Value) {
				continue
			}
			move := "L"
			if v.At.Sub(before) > 2*time.Second {
				move = "M" // a gap is not known, it is not a line
			}
			before = v.At
			fmt.Fprintf(&path, "%s%.1f %.1f", move, left+v.At.Sub(p.from).Seconds()/span*(right-left), bottom-v.Value/highest*(bottom-top))
		}
		fmt.Fprintf(p, `<path d="%s" fill="none" stroke="%s" stroke-width="1.6"/>`, path.String(), color)
		name := legendOf(c.Queries[0].Legend, s.Metric)
		if legend+12+7*len(name) < x+wide {
			fmt.Fprintf(p, `<rect x="%d" y="%d" width="9" height="9" fill="%s"/>`, legend, y+graphTall-19, color)
			p.text(legend+13, y+graphTall-11, 11, "#adbac7", name)
			legend += 26 + 7*len(name)
		}
	}
	if len(c.series) == 0 {
		p.text(x+wide/2-20, y+graphTall/2, 12, "#768390", "no data")
	}
}

func (p *picture) text(x, y, size int, color, text string) {
	fmt.Fprintf(p, `<text x="%d" y="%d" font-size="%d" fill="%s">`, x, y, size, color)
	_ = xml.EscapeText(p, []byte(text)) // a Builder does not fail
	p.WriteString("</text>")
}

// legendOf replaces {{LABEL}} by its value.
func legendOf(legend string, labels map[string]string) string {
	for name, value := range labels {
		legend = strings.ReplaceAll(legend, "{{"+name+"}}", value)
	}
	return legend
}

// amount is a value with its unit.
func amount(v float64, unit string) string {
	text := fmt.Sprintf("%.3g", v)
	switch {
	case unit == "s" && v > 0 && v < 1:
		return fmt.Sprintf("%.3g ms", v*1000)
	case unit == "s":
		return text + " s"
	case unit == "ops":
		return text + "/s"
	}
	return text
}
