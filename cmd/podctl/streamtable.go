package main

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// streamTable lays out rows that come one by one: what is printed stays, so a
// column only ever grows.
type streamTable struct {
	header []string
	// flexible are the columns that are cut where a line is too long.
	flexible []int
	widths   []int
}

func newStreamTable(header []string, flexible ...int) *streamTable {
	t := &streamTable{header: header, flexible: flexible}
	for _, h := range header {
		t.widths = append(t.widths, twwidth.Width(h))
	}
	return t
}

// expect makes room for a value that is likely to come.
func (t *streamTable) expect(column int, value string) {
	t.widths[column] = max(t.widths[column], twwidth.Width(value))
}

// narrowest is what a flexible column keeps.
const narrowest = 8

// row is a line of cells, no wider than the terminal as far as that can be
// had; width 0 is no limit.
func (t *streamTable) row(cells []string, width int) string {
	for i, cell := range cells {
		t.expect(i, cell)
	}
	widths := t.fit(width)
	var b strings.Builder
	for i, cell := range cells {
		cell = cut(cell, widths[i])
		b.WriteString(cell)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", max(0, widths[i]-twwidth.Width(cell))+2))
		}
	}
	return cut(strings.TrimRight(b.String(), " "), width)
}

// fit shortens the widest flexible columns until a line fits.
func (t *streamTable) fit(width int) []int {
	widths := append([]int{}, t.widths...)
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; width > 0 && total > width; total-- {
		widest := t.flexible[0]
		for _, i := range t.flexible {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			break
		}
		widths[widest]--
	}
	return widths
}
