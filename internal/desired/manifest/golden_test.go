package manifest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite testdata/*.txt with what Load says now")

// TestTranscripts runs every testdata/*.txt: an archive whose comment opens
// with the rule that it shows, the files to load in their order, and the
// answer in "want". In a file, ␉ stands for a tab, ␍ for a carriage return,
// ␡ for a control character, ⍽ for a no-break space, ␢ for one without width and ␀ for a byte-order mark, which an editor would hide.
func TestTranscripts(t *testing.T) {
	dir, err := filepath.Abs("testdata") // a transcript changes directory
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Comment) == 0 {
				t.Error("the transcript does not say which rule it shows")
			}
			got, want := transcript(t, archive), ""
			last := &archive.Files[len(archive.Files)-1]
			if last.Name == "want" {
				want = string(last.Data)
			} else {
				archive.Files = append(archive.Files, txtar.File{Name: "want"})
				last = &archive.Files[len(archive.Files)-1]
			}
			if *update {
				last.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func transcript(t *testing.T, archive *txtar.Archive) string {
	t.Chdir(t.TempDir())
	var paths []string
	for _, f := range archive.Files {
		if f.Name == "want" {
			continue
		}
		data := strings.NewReplacer("␉", "\t", "␍", "\r", "␀", "\ufeff", "␡", "\x7f", "⍽", "\u00a0", "␢", "\u200b").Replace(string(f.Data))
		if err := os.WriteFile(f.Name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, f.Name)
	}
	return show(Load(t.Context(), paths, LoadOptions{}))
}

// show prints all that Load returned.
func show(set *Set, err error) string {
	var b strings.Builder
	if err != nil {
		problems, ok := errors.AsType[Problems](err)
		if !ok {
			return fmt.Sprintf("not Problems: %v", err)
		}
		fmt.Fprintf(&b, "%v\n%s\n", problems, problems.Summary())
	} else {
		for _, p := range set.Pods {
			fmt.Fprintf(&b, "%s:%d: pod %s/%s %s\n", p.File, p.Line, p.Namespace, p.Name, p.UID)
		}
		for _, d := range set.Documents {
			fmt.Fprintf(&b, "%s:%d: %s %s\n", d.File, d.Line, d.Kind, d.FullName())
		}
	}
	for _, w := range set.Warnings {
		fmt.Fprintf(&b, "warning: %v\n", w)
		if w.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", w.Hint)
		}
	}
	return b.String()
}
