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
	rows := make([][]string, len(l.Items))
	for n, i := range l.Items {
		rows[n] = f.cells(i)
	}
	return f.rows(w, f.header(l), rows, func(n int) []string { return l.Items[n].Notes })
}

func (f Format) header(l List) []string {
	if f.name == "wide" {
		return slices.Concat(l.Header, l.Wide)
	}
	return l.Header
}

func (f Format) cells(i Item) []string {
	if f.name == "wide" {
		return slices.Concat(i.Cells, i.Wide)
	}
	return i.Cells
}

// RowStream prints rows of tables as they come, under one header.
type RowStream struct {
	format Format
	to     io.Writer
	table  *Table // nil before the first row
}

// NewRowStream returns a stream of rows in the format, which is that of a table.
func (f Format) NewRowStream(to io.Writer) *RowStream { return &RowStream{format: f, to: to} }

// Print prints items of a list.
func (s *RowStream) Print(l List, items []Item) error {
	if len(items) == 0 {
		return nil
	}
	var lines []string
	if s.table == nil {
		s.table = NewTable(s.format.header(l))
		for _, i := range l.Items { // which are measured for the header
			s.table.Row(s.format.cells(i), 0)
		}
		if !s.format.NoHeaders {
			lines = append(lines, s.table.Header(0))
		}
	}
	for _, i := range items {
		lines = append(lines, s.table.Row(s.format.cells(i), 0))
		for _, note := range i.Notes {
			lines = append(lines, noteLine(note))
		}
	}
	_, err := io.WriteString(s.to, strings.Join(lines, "\n")+"\n")
	return err
}

// noteLine is a note below a row.
func noteLine(note string) string { return Printable(strings.ReplaceAll(note, "\n", "; ")) }

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
			fmt.Fprintln(to, noteLine(note))
		}
	}
	if t.cut {
		fmt.Fprintln(to, "hint: --no-trunc prints the last column in full")
	}
	return to.Flush()
}
