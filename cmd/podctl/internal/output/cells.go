package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/podctl/podctl/internal/fleet"
)

// Cells is the format of lists for another podctl, which prints them together with others:
// the rows of the table and the objects, as JSON on one line.
const Cells = "cells"

// cellsVersion is that of the document. A reader ignores fields that it does not know.
const cellsVersion = 1

type cellsDocument struct {
	Version int        `json:"cellsVersion"`
	Header  cellsRow   `json:"header"`
	Wide    cellsRow   `json:"wide,omitempty"`
	Items   cellsItems `json:"items"`
}

type cellsItem struct {
	Name      string          `json:"name"`
	Cells     cellsRow        `json:"cells"`
	Wide      cellsRow        `json:"wide,omitempty"`
	Notes     cellsRow        `json:"notes,omitempty"`
	WideNotes cellsRow        `json:"wideNotes,omitempty"`
	Data      json.RawMessage `json:"data"`
}

// cellsRow and cellsItems are read with a bound: a few bytes of JSON are a cell or an item.
// A cellsRow is also the notes below a row.
type (
	cellsRow   []string
	cellsItems []cellsItem
)

func (r *cellsRow) UnmarshalJSON(text []byte) error {
	return bounded((*[]string)(r), text, fleet.MaxColumns)
}
func (i *cellsItems) UnmarshalJSON(text []byte) error {
	return bounded((*[]cellsItem)(i), text, fleet.MaxItems)
}

func bounded[T any](into *[]T, text []byte, limit int) (err error) {
	if string(text) != "null" {
		*into, err = fleet.Items[T](text, limit)
	}
	return err
}

func (l List) cells(w io.Writer) error {
	d := cellsDocument{Version: cellsVersion, Header: l.Header, Wide: l.Wide, Items: make([]cellsItem, len(l.Items))}
	for n, i := range l.Items {
		data, err := json.Marshal(i.Data)
		if err != nil {
			return err
		}
		d.Items[n] = cellsItem{i.Name, i.Cells, i.Wide, i.Notes, i.WideNotes, data}
	}
	return JSONLine(w, d)
}

// maxCell bounds the cells that ReadCells returns, in bytes: each line of a table, which
// is printed with others, is as long as the longest cells.
const maxCell = 256

// errNotCells: the text is not in the format.
var errNotCells = errors.New("not a list of podctl")

// ReadCells reads a list that another podctl has printed in the format. The Data of its
// items are json.RawMessage. Long cells are cut.
func ReadCells(text []byte) (List, error) {
	var d cellsDocument
	switch err := json.Unmarshal(text, &d); {
	case errors.Is(err, fleet.ErrTooMany):
		return List{}, err
	case err != nil, !utf8.Valid(text):
		return List{}, errNotCells
	case d.Version != cellsVersion:
		return List{}, fmt.Errorf("%w of version %d", errNotCells, cellsVersion)
	}
	l := List{Header: shortened(d.Header), Wide: shortened(d.Wide), Items: make([]Item, len(d.Items))}
	for n, i := range d.Items {
		l.Items[n] = Item{
			Name: i.Name, Data: i.Data, Notes: i.Notes, WideNotes: i.WideNotes,
			Cells: shortened(i.Cells[:min(len(i.Cells), len(d.Header))]), Wide: shortened(i.Wide[:min(len(i.Wide), len(d.Wide))]),
		}
	}
	return l, nil
}

// shortened cuts long cells.
func shortened(cells []string) []string {
	for i, cell := range cells {
		if len(cell) <= maxCell {
			continue
		}
		end := maxCell
		for !utf8.RuneStart(cell[end]) {
			end--
		}
		cells[i] = cell[:end] + "…"
	}
	return cells
}
