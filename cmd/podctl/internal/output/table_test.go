package output

import (
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

func TestTableColumnsOnlyGrow(t *testing.T) {
	table := NewTable([]string{"POD", "EVENT", "LAG"}, 0)
	for _, c := range []struct {
		cells []string
		want  string
	}{
		{[]string{"POD", "EVENT", "LAG"}, "POD  EVENT  LAG"},
		{[]string{"default/web", "Died", "4ms"}, "default/web  Died   4ms"},
		{[]string{"kube/a", "Died", ""}, "kube/a       Died"},
		{[]string{"kube/ü", "Started", "1s"}, "kube/ü       Started  1s"},
	} {
		if got := table.Row(c.cells, 0); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// One long cell, which all rows are padded to, does not make a table of a runtime's
// pods a thousand times as large. Of a few rows nothing is cut.
func TestTableIsBoundedByItsContent(t *testing.T) {
	const name = 8 << 20
	rows := make([][]string, 1<<13)
	for i := range rows {
		rows[i] = []string{"default/web", "Running", "why"}
	}
	rows[7] = []string{strings.Repeat("n", name), strings.Repeat("s", name), strings.Repeat("w", name)}
	var out strings.Builder
	if err := PrintTable(&out, []string{"POD", "STATUS", "WHY"}, rows); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 2*maxPadding+len(rows)*100+leastWidestLast {
		t.Errorf("%d bytes", out.Len())
	}
	row := strings.Repeat("n", 50_000) + "  " + strings.Repeat("s", 50_000) + "  " + strings.Repeat("w", 50_000)
	if got := NewTable([]string{"POD", "STATUS", "WHY"}).Rows([][]string{strings.Fields(row)}, 0)[0]; got != row {
		t.Errorf("a row of %d bytes has %d", len(row), len(got))
	}
	table := NewTable([]string{"POD", "STATUS", "WHY"})
	table.Row(rows[7], 0)
	if got := table.Row(rows[0], 0); len(got) > 4*leastWidest+100 {
		t.Errorf("a row after it of %d bytes", len(got))
	}
}

// TestTableFitsTheTerminal: the widest flexible columns are cut first, in the middle, and
// then all.
func TestTableFitsTheTerminal(t *testing.T) {
	table := NewTable([]string{"POD", "EVENT", "CONTAINER", "LAG"}, 0, 2)
	cells := []string{"kube-system/coredns-7db6d8ff4d-abcde", "ContainerStarted", "coredns-container", "4ms"}
	for width, want := range map[int]string{
		0:  "kube-system/coredns-7db6d8ff4d-abcde  ContainerStarted  coredns-container  4ms",
		70: "ku…/coredns-7db6d8ff4d-abcde  ContainerStarted  coredns-container  4ms",
		50: "coredn…abcde  ContainerStarted  coredn…tainer  4ms",
		40: "cored…bcde  Conta…rted  cored…ainer  4ms",
	} {
		if got := table.Row(cells, width); got != want || width > 0 && twwidth.Width(got) > width {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
	// A terminal that got wider shows all again.
	if got := table.Row(cells, 80); got != "kube-system/coredns-7db6d8ff4d-abcde  ContainerStarted  coredns-container  4ms" {
		t.Errorf("%q", got)
	}
}
