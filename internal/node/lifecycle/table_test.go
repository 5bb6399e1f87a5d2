package lifecycle

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/testkit/testutil"
)

const (
	page  = "../../../docs/node.md"
	begin = "<!-- table: written by go test ./internal/node/lifecycle -update -->\n"
	end   = "<!-- end of table -->\n"
)

// TestDocumentedTableIsGenerated keeps the transition table of docs/node.md true.
func TestDocumentedTableIsGenerated(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	if !ok {
		t.Fatalf("%s has no line %q", page, begin)
	}
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no line %q", page, end)
	}
	testutil.Golden(t, *update, page, head+begin+transitionTable()+end+tail)
}

// transitionTable has a row for each event and a column for each phase.
func transitionTable() string {
	from := []situation{
		{"none", nil, 0},
		{"waiting", []Event{wish, held}, time.Minute},
		{"starting", starts, 0},
		{"rejected", after(starts, Reject{errBusy}), 0},
		{"active", runs, 0},
		{"stopping", after(runs, Undesire{}), 0},
		{"removing", after(runs, Undesire{}, Forgotten{}), 0},
		{"removed", after(runs, Undesire{}, Cleaned{}), 0},
	}
	var b strings.Builder
	b.WriteString("| event |")
	for _, f := range from {
		fmt.Fprintf(&b, " %s |", f.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(from)) + "\n")
	for _, c := range columns() {
		fmt.Fprintf(&b, "| %s |", c.name)
		for _, f := range from {
			fmt.Fprintf(&b, " %s |", cell(f.reach(), c.ev))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func cell(before Entry, ev Event) string {
	got, actions := Step(before, matrixNow, ev)
	if got.String() == before.String() && len(actions) == 0 && got.Wait == before.Wait {
		return "–"
	}
	text := "**" + got.Phase.String() + "**"
	if got.Next != nil {
		text += ", next"
	}
	for _, a := range actions {
		text += "; " + a.String()
	}
	return text
}
