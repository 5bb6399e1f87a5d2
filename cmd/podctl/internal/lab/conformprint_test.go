package lab

import (
	"bytes"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/conform"
)

// TestConformPrintsRowsAsTheyEnd: the second behaviour sees the row of the first.
func TestConformPrintsRowsAsTheyEnd(t *testing.T) {
	var out, errw bytes.Buffer
	e := &shell.Env{Out: &out, Errw: &errw, Now: time.Now}
	var between string
	o := conformOptions{run: conform.Options{Behaviours: []conform.Behaviour{{Name: "first"}, {Name: "second-and-longer"}}}}
	rows := newConformRows(e, o)
	rows.print(conform.Result{Name: "first", Verdict: conform.Unsupported, Detail: "never"})
	between = out.String()
	rows.print(conform.Result{Name: "second-and-longer", Verdict: conform.Unsupported, Detail: "never"})
	if err := rows.close(); err != nil {
		t.Fatal(err)
	}
	first := "BEHAVIOUR          VERDICT      DETAIL\nfirst              unsupported  never\n"
	if all := first + "second-and-longer  unsupported  never\n"; between != first || out.String() != all || errw.Len() > 0 {
		t.Errorf("%q, then %q; %q", between, out.String(), errw.String())
	}
}
