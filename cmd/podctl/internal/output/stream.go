package output

import (
	"bytes"
	"fmt"
	"io"
)

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
