package why

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/podctl/podctl/testkit/testutil"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	page      = "../../../docs/stuck-starting.md"
	pageBegin = "<!-- errors: written by go test ./internal/pods/why -update -->\n"
	pageEnd   = "<!-- end of table -->\n"
)

// TestTableInTheDocs keeps the table of errors of docs/stuck-starting.md true.
func TestTableInTheDocs(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, hasBegin := strings.Cut(string(text), pageBegin)
	_, tail, hasEnd := strings.Cut(rest, pageEnd)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no table of errors", page)
	}
	testutil.Golden(t, *update, page, head+pageBegin+errorsTable()+pageEnd+tail)
}

func errorsTable() string {
	var b strings.Builder
	b.WriteString("| words of the error | LAYER | STEP | what it means |\n|---|---|---|---|\n")
	for _, r := range table {
		shows := r.in.name
		if len(r.words) > 0 {
			if shows != "" {
				shows += ": "
			}
			shows += strings.ReplaceAll(strings.ReplaceAll(strings.Join(r.words, ", "), "*", "…"), "|", "\\|")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", shows, r.layer, r.step, r.means)
	}
	return b.String()
}
