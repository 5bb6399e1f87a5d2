package output

import (
	"strings"
	"testing"
)

func TestListFitsTheTerminal(t *testing.T) {
	l := List{Header: []string{"POD", "LAST ERROR"}, Wide: []string{"UID"}, Items: []Item{{
		Name: "default/web", Cells: []string{"default/web", strings.Repeat("x", 100)}, Wide: []string{"uid-web"},
		WideNotes: []string{"  not ready: " + strings.Repeat("w", 25) + " for 3m"},
	}}}
	for _, c := range []struct {
		name, output string
		width        int
		want         string
	}{
		{"terminal", "table", 40, "POD          LAST ERROR\ndefault/web  " + strings.Repeat("x", 26) + "…\nhint: --no-trunc prints LAST ERROR in full\n"},
		{"no terminal", "table", 0, "POD          LAST ERROR\ndefault/web  " + strings.Repeat("x", 100) + "\n"},
		{"wide", "wide", 40, "POD          LAST ERROR          UID\ndefault/web  " + strings.Repeat("x", 9) + "…" + strings.Repeat("x", 8) + "  uid-web\n" +
			"  not ready: " + strings.Repeat("w", 25) + "\n    for 3m\nhint: --no-trunc prints LAST ERROR in full\n"},
	} {
		f, err := ParseFormat(c.output)
		if err != nil {
			t.Fatal(err)
		}
		f.Width = c.width
		var got strings.Builder
		if err := f.Print(&got, l); err != nil || got.String() != c.want {
			t.Errorf("%s: %v\n%q, want\n%q", c.name, err, got.String(), c.want)
		}
	}
}
