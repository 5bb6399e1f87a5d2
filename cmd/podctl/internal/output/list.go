package output

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
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
	// Cells are a row of the table, Wide those that -o wide adds. Notes are the lines below
	// the row, and WideNotes those that -o wide adds.
	Cells, Wide, Notes, WideNotes []string
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
	return f.rows(w, f.header(l), rows, func(n int) []string { return f.notes(l.Items[n]) })
}

func (f Format) notes(i Item) []string {
	if f.name == "wide" {
		return slices.Concat(i.Notes, i.WideNotes)
	}
	return i.Notes
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
		header := s.format.header(l)
		s.table = NewTable(header, 0, len(header)-1)
		for _, i := range l.Items { // which are measured for the header
			s.table.Row(s.format.cells(i), s.format.Width)
		}
		if !s.format.NoHeaders {
			lines = append(lines, s.table.Header(s.format.Width))
		}
	}
	for _, i := range items {
		lines = append(lines, s.table.Row(s.format.cells(i), s.format.Width))
		for _, note := range s.format.notes(i) {
			lines = append(lines, noteLine(note, s.format.Width))
		}
	}
	_, err := io.WriteString(s.to, strings.Join(lines, "\n")+"\n")
	return err
}

// Close prints how to see what was cut.
func (s *RowStream) Close() error {
	if s.table == nil {
		return nil
	}
	_, err := io.WriteString(s.to, s.table.hint())
	return err
}

// noteLine returns a note below a row. A text that is wider than the terminal is wrapped at
// blanks; a hint is not, so that its command can be copied.
func noteLine(note string, width int) string {
	line := Printable(strings.ReplaceAll(note, "\n", "; "))
	text := strings.TrimLeft(line, " ")
	if width == 0 || twwidth.Width(line) <= width || strings.HasPrefix(text, "hint:") {
		return line
	}
	indent := line[:len(line)-len(text)]
	var wrapped strings.Builder
	for used, words := width, strings.Fields(text); len(words) > 0; words = words[1:] {
		need := 1 + twwidth.Width(words[0])
		switch {
		case wrapped.Len() == 0:
			wrapped.WriteString(indent)
			used = len(indent) - 1
		case used+need > width:
			wrapped.WriteString("\n  " + indent)
			used = len(indent) + 1
		default:
			wrapped.WriteByte(' ')
		}
		wrapped.WriteString(words[0])
		used += need
	}
	return wrapped.String()
}

// rows prints a table with notes below its rows.
func (f Format) rows(w io.Writer, header []string, rows [][]string, notes func(row int) []string) error {
	t := NewTable(header, 0, len(header)-1)
	to := bufio.NewWriterSize(w, chunk)
	lines := t.Rows(rows, f.Width)
	if !f.NoHeaders {
		fmt.Fprintln(to, t.Header(f.Width))
	}
	for n, line := range lines {
		fmt.Fprintln(to, line)
		for _, note := range notes(n) {
			fmt.Fprintln(to, noteLine(note, f.Width))
		}
	}
	fmt.Fprint(to, t.hint())
	return to.Flush()
}

// Stream prints objects one after the other in a data format: JSON on one line each, YAML
// as documents, names and templates a line each, custom columns as rows below one header.
type Stream struct {
	format Format
	w      io.Writer
	// table has the rows of custom columns; nil before the first.
	table *Table
	// printed: an object has been printed.
	printed bool
}

// NewStream returns a stream to w. The format is not that of a table, whose lines are the
// command's own.
func (f Format) NewStream(w io.Writer) *Stream { return &Stream{format: f, w: w} }

// Print prints one object. Without a name -o name prints nothing for it.
func (s *Stream) Print(name string, data any) error {
	separate := s.printed
	s.printed = true
	switch s.format.name {
	case "json":
		return JSONLine(s.w, data)
	case "yaml":
		if separate {
			if _, err := fmt.Fprintln(s.w, "---"); err != nil {
				return err
			}
		}
		return YAML(s.w, data)
	case "name":
		if name == "" {
			return nil
		}
		_, err := fmt.Fprintln(s.w, OneLine(name))
		return err
	case "custom-columns":
		return s.row(data)
	}
	var text bytes.Buffer
	if err := s.format.PrintObject(&text, nil, Item{Name: name, Data: data}); err != nil || text.Len() == 0 {
		return err
	}
	if !bytes.HasSuffix(text.Bytes(), []byte("\n")) {
		text.WriteByte('\n')
	}
	_, err := s.w.Write(text.Bytes())
	return err
}

// row prints an object as a row of custom columns.
func (s *Stream) row(data any) error {
	cells, err := s.format.cellsOf(data)
	if err != nil {
		return err
	}
	if s.table == nil {
		s.table = NewTable(s.format.columnHeader())
		// The first row is measured before the header is printed.
		first := s.table.Row(cells, 0)
		if !s.format.NoHeaders {
			first = s.table.Header(0) + "\n" + first
		}
		_, err := fmt.Fprintln(s.w, first)
		return err
	}
	_, err = fmt.Fprintln(s.w, s.table.Row(cells, 0))
	return err
}
