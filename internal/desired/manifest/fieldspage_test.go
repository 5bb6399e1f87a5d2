package manifest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const fieldsPage = "../../../docs/fields.md"

// TestFieldsPageIsCurrent compares docs/fields.md with the field tables: `make
// docs` writes it.
func TestFieldsPageIsCurrent(t *testing.T) {
	want := renderFields()
	if *update {
		if err := os.WriteFile(fieldsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(fieldsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/fields.md is out of date: run make docs")
	}
}

func renderFields() string {
	var b strings.Builder
	b.WriteString(`<!-- Made by make docs from the field tables of internal/desired/manifest: change them there. -->

# Fields

What podctl does with each field that a manifest sets. ` + "`podctl validate -o json`" + ` says it of a manifest at hand.

- **honoured**: it has the effect that it has under a kubelet. Where values stand beside it, only those do; any other is refused.
- **ignored**: it needs a control plane, and has no effect. A warning says so once, unless no pod loses anything by it; ` + "`--strict`" + ` makes it an error.
- **refused**: an error with file and line; nothing starts.

A row speaks for all fields below its own that have no row; rows of ` + "`spec.containers[]`" + ` also for init containers, where those have no row of
their own. A field of no row is unknown, which is an error, too.
`)
	for _, k := range kinds {
		fmt.Fprintf(&b, "\n## %s\n\n", k.name)
		if k.read != nil {
			b.WriteString("What its template may have is what a Pod may have: see above.\n\n")
		}
		rowsOf(&b, k.fields())
	}
	return b.String()
}

// rowsOf writes a table. Rows of init containers that say what those of
// containers say are left to them.
func rowsOf(b *strings.Builder, fields []Field) {
	b.WriteString("| field | | |\n|---|---|---|\n")
	main := map[string]string{}
	for _, f := range fields {
		if below, ok := strings.CutPrefix(f.Path, "spec.containers[]"); ok {
			main[below] = whatOf(f)
		} else if below, ok := strings.CutPrefix(f.Path, "spec.initContainers[]"); ok && main[below] == whatOf(f) {
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", f.Path, whatOf(f))
	}
}

func whatOf(f Field) string {
	what := f.Support.String()
	for i, v := range f.Values {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		if v == "" {
			v = `""`
		}
		what += sep + "`" + v + "`"
	}
	reason := f.Reason
	if f.Hint != "" {
		reason += ": " + f.Hint
	}
	return what + " | " + strings.ReplaceAll(reason, "|", `\|`)
}
