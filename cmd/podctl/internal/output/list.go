package output

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// List is a list of objects as a command prints it, in any Format.
type List struct {
	// Header is that of the table, Wide what -o wide adds to it.
	Header, Wide []string
	Items        []Item
}

// Item is one of the objects.
type Item struct {
	// Name is what other commands take: NAMESPACE/NAME.
	Name string
	// Cells are a row of the table, Wide those that -o wide adds, and Notes the
	// lines below the row.
	Cells, Wide, Notes []string
	// Data is what the data formats print: a documented type of podctl's own.
	Data any
}

// table prints the list as a table, nothing if it is empty.
func (f Format) table(w io.Writer, l List) error {
	if len(l.Items) == 0 {
		return nil
	}
	header, rows := l.Header, make([][]string, len(l.Items))
	for n, i := range l.Items {
		rows[n] = i.Cells
	}
	if f.name == "wide" {
		header = append(slices.Clip(header), l.Wide...)
		for n, i := range l.Items {
			rows[n] = append(slices.Clip(i.Cells), i.Wide...)
		}
	}
	return f.rows(w, header, rows, func(n int) []string { return l.Items[n].Notes })
}

// rows prints a table with notes below its rows.
func (f Format) rows(w io.Writer, header []string, rows [][]string, notes func(row int) []string) error {
	t := NewTable(header, 0, len(header)-1)
	to := bufio.NewWriterSize(w, chunk)
	width := f.Width
	if f.name == "wide" {
		width = 0
	}
	lines := t.Rows(rows, width)
	if !f.NoHeaders {
		fmt.Fprintln(to, t.Header(width))
	}
	for n, line := range lines {
		fmt.Fprintln(to, line)
		for _, note := range notes(n) {
			fmt.Fprintln(to, Printable(strings.ReplaceAll(note, "\n", "; ")))
		}
	}
	return to.Flush()
}
