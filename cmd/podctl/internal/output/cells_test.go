package output

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCellsAreReadAsTheyWereWritten(t *testing.T) {
	l := List{Header: []string{"POD", "AGE"}, Wide: []string{"UID"}, Items: []Item{
		{Name: "default/web", Cells: []string{"default/web", "3m"}, Wide: []string{"u1"}, Notes: []string{"  why"}, Data: map[string]any{"a": 1}},
	}}
	f, err := ParseFormat(Cells)
	if err != nil || f.IsTable() || !f.IsWide() {
		t.Fatal(f, err)
	}
	var text bytes.Buffer
	if err := f.Print(&text, l); err != nil {
		t.Fatal(err)
	}
	read, err := ReadCells(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"table", "wide", "name", "json", "jsonpath={[*].a}"} {
		f, err := ParseFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		var before, after bytes.Buffer
		if f.Print(&before, l) != nil || f.Print(&after, read) != nil || before.String() != after.String() {
			t.Errorf("%s:\n%s\n%s", name, before.String(), after.String())
		}
	}
	text.Reset()
	if err := f.Print(&text, List{}); err != nil {
		t.Fatal(err)
	}
	if read, err := ReadCells(text.Bytes()); err != nil || len(read.Items) > 0 {
		t.Errorf("empty list: %v, %v", read, err)
	}
}

func TestCellsOfAHostileNodeAreBounded(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", "x", `{"cellsVersion":2}`, "{\"cellsVersion\":1,\"header\":[\"\xff\"]}", `{"cellsVersion":1,"header":["a"` + strings.Repeat(`,"b"`, 64) + `]}`,
		`{"cellsVersion":1,"items":[{}` + strings.Repeat(`,{}`, 10000) + `]}`, `{"cellsVersion":1,"items":[{"notes":["x"` + strings.Repeat(`,""`, 64) + `]}]}`, `{"cellsVersion":1,"items":{}}`,
	} {
		if l, err := ReadCells([]byte(text)); err == nil {
			t.Errorf("%.40q: %v", text, l)
		}
	}
	l, err := ReadCells([]byte(`{"cellsVersion":1,"header":["A"],"items":[{"cells":["` + strings.Repeat("漢", 1000) + `","more"],"wide":["x"]}]}`))
	if err != nil || len(l.Items[0].Cells) != 1 || len(l.Items[0].Wide) != 0 {
		t.Fatal(l, err)
	}
	if cell := l.Items[0].Cells[0]; len(cell) > maxCell+len("…") || !utf8.ValidString(cell) {
		t.Errorf("%q", cell)
	}
}

// A list is written item by item, with the same text as in one piece.
func TestJSONOfAListIsTheJSONOfItsItems(t *testing.T) {
	for _, items := range [][]any{nil, {1}, {map[string]any{"a": []int{1, 2}, "b": "<\u009b"}, []string{}, nil, "x\n"}} {
		var whole, pieces bytes.Buffer
		if err := errors.Join(JSON(&whole, append([]any{}, items...)), jsonList(&pieces, items)); err != nil || whole.String() != pieces.String() {
			t.Errorf("%v:\n%s\n%s", err, whole.String(), pieces.String())
		}
	}
}
