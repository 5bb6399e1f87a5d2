package cmdline

import (
	"strings"
	"unicode/utf8"
)

const (
	// helpWidth is the number of columns that help fits in.
	helpWidth = 100
	// nameWidth is the number of columns up to which names are aligned: the text of a
	// longer one begins on the next line.
	nameWidth = 36
	margin    = "   "
)

// row is a name and what it means.
type row struct{ name, text string }

// columns aligns rows, and wraps their texts at helpWidth.
func columns(rows []row) string {
	width := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r.name); n <= nameWidth {
			width = max(width, n)
		}
	}
	indent := margin + strings.Repeat(" ", width+2)
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(margin + r.name)
		lines := wrapped(r.text, helpWidth-len(indent))
		if n := utf8.RuneCountInString(r.name); n <= width && len(lines) > 0 {
			b.WriteString(strings.Repeat(" ", width-n+2) + lines[0])
			lines = lines[1:]
		}
		b.WriteString("\n")
		for _, line := range lines {
			b.WriteString(indent + line + "\n")
		}
	}
	return b.String()
}

// wrapped breaks text between words into lines of at most width columns; a longer word
// has a line of its own.
func wrapped(text string, width int) []string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
