package output

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// hostile are texts that a runtime, a container or a manifest may hold.
var hostile = []string{
	"", "web", "a\nb", "a\r\nb", "\n", "\x1b[2J\x1b[31mred", "\x00", "\x7f", "\u009b2J", "\u202eevil", "e\u0301", "漢字", "\xff\xfe", "a\tb",
	strings.Repeat("x", 300), "%s%d", "{{.}}", "👩‍👩‍👧", "\u200b", "… ", "\u202e\n\x01\u202e: a", "\ufeff\u2028\U000e0041", "\\x01\u00a0", " leading", ": ",
}

func seed(f *testing.F) {
	for i, a := range hostile {
		f.Add(a, hostile[(i+5)%len(hostile)], hostile[(i+9)%len(hostile)], 40)
	}
}

// isClean reports whether a terminal prints text, line by line.
func isClean(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
}

// FuzzTable: a table has a line for each row, none of them wider than the
// terminal or with a character that moves the cursor.
func FuzzTable(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b, c string, width int) {
		width = max(0, width) % 200
		table := NewTable([]string{"POD", "STATE", "NOW"}, 0, 2)
		lines := append(table.Rows([][]string{{a, b, c}, {c}, nil, {a, b, c, a}}, width), table.Header(width), table.Row([]string{b, c, a}, width))
		for _, line := range lines {
			if strings.Contains(line, "\n") || !isClean(line) {
				t.Errorf("%q", line)
			}
		}
	})
}

// FuzzList: every format prints any list, and those for a terminal print
// nothing that moves the cursor.
func FuzzList(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b, c string, _ int) {
		type data struct {
			Name string   `json:"name"`
			More []string `json:"more"`
		}
		l := List{Header: []string{"POD", "STATE"}, Wide: []string{"UID"}, Items: []Item{
			{Name: a, Cells: []string{a, b}, Wide: []string{c}, Notes: []string{"  " + c}, Data: data{a, []string{b, c}}},
			{Name: b, Cells: []string{b}, Data: data{Name: c}},
		}}
		for _, name := range []string{"table", "wide", "name", "json", "yaml", "jsonpath={[*].name}", "go-template={{range .}}{{.name}}{{end}}", "custom-columns=A:.name,B:.more[0]"} {
			format, err := ParseFormat(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := format.SortBy(".name"); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := format.Print(NewWriter(&out), l); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if text := out.String(); !isClean(text) {
				t.Errorf("%s: %q", name, text)
			}
			switch lines := strings.Count(out.String(), "\n"); name {
			case "table", "wide":
				if lines != 4 {
					t.Errorf("%s: %d lines: %q", name, lines, out.String())
				}
			case "name":
				if lines != 2 {
					t.Errorf("%s: %q", name, out.String())
				}
			case "yaml":
				var read []data
				if err := yaml.Unmarshal(out.Bytes(), &read); err != nil || len(read) != 2 || utf8.ValidString(a+b) && !slices.ContainsFunc(read, func(d data) bool { return d.Name == a && len(d.More) == 2 && d.More[0] == b }) {
					t.Errorf("yaml: %v: %q", err, out.String())
				}
			case "json":
				var read []data
				if err := json.Unmarshal(out.Bytes(), &read); err != nil || len(read) != 2 {
					t.Errorf("json: %v: %q", err, out.String())
				}
			}
		}
	})
}

// FuzzWriter: what is written in pieces comes out as what is written at once,
// printable text unchanged.
func FuzzWriter(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b, c string, cut int) {
		text := a + b + c
		cut = max(0, cut) % (len(text) + 1)
		var whole, pieces bytes.Buffer
		if _, err := NewWriter(&whole).Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		w := NewWriter(&pieces)
		for _, piece := range []string{text[:cut], text[cut:]} {
			if n, err := w.Write([]byte(piece)); err != nil || n != len(piece) {
				t.Fatal(n, err)
			}
		}
		if !slices.Equal(whole.Bytes(), pieces.Bytes()) {
			t.Errorf("%q at once, %q in pieces", whole.String(), pieces.String())
		}
		if got := whole.String(); !isClean(got) || isClean(text) && utf8.ValidString(text) && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
