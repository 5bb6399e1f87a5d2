package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/testkit/testutil"
)

var galleryUpdate = flag.Bool("update", false, "write docs/gallery.md, and what TestGallery sees for it")

// galleryColumns are the columns of the page, in their order.
var galleryColumns = []string{"podctl on containerd", "podctl on crio", "kubelet on containerd", "kubelet on crio"}

func answersFile(column string) string {
	return filepath.Join("testdata/gallery", strings.ReplaceAll(column, " ", "-")+".json")
}

func readAnswers(t *testing.T, column string) map[string]*galleryAnswer {
	t.Helper()
	answers := map[string]*galleryAnswer{}
	data, err := os.ReadFile(answersFile(column))
	if errors.Is(err, fs.ErrNotExist) {
		return answers
	}
	if err == nil {
		err = json.Unmarshal(data, &answers)
	}
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// keep writes what podctl said in a column, or compares its layers with what it said before.
func keep(t *testing.T, column string, answers map[string]*galleryAnswer) {
	t.Helper()
	known := readAnswers(t, column)
	if !*galleryUpdate {
		for pod, now := range answers {
			if before := known[pod]; before != nil && now.Layer != before.Layer {
				t.Errorf("%s has the layer %s, in docs/gallery.md %s (-update rewrites it)", pod, now.Layer, before.Layer)
			}
		}
		return
	}
	for pod, a := range answers {
		a.Evidence = machineless(a.Evidence)
		known[pod] = a
	}
	data, err := json.MarshalIndent(known, "", "\t")
	if err == nil {
		err = errors.Join(os.MkdirAll("testdata/gallery", 0o755), os.WriteFile(answersFile(column), append(data, '\n'), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// machineless replaces what differs from run to run.
func machineless(text string) string {
	for _, r := range []struct{ of, by string }{
		{`/(tmp|run|var|sys)/\S*/([\w.-]+)`, "…/$2"}, {`\b[0-9a-f]{13,64}\b`, "ID"}, {`pid \d+`, "pid N"}, {`\d+(m\d+)?s\b`, "Ns"},
		{`127\.0\.0\.1:\d+`, "registry"}, {`10\.201\.\d+`, "10.201.0"}, {`[0-9a-f]{8}-[0-9a-f-]{27}`, "UID"}, {`time="[^"]*"`, "time=…"},
	} {
		text = regexp.MustCompile(r.of).ReplaceAllString(text, r.by)
	}
	if words := []rune(text); len(words) > 160 {
		text = "…" + string(words[len(words)-160:])
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// TestGalleryPage makes the page of what TestGallery saw.
func TestGalleryPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# A gallery of faults\n\nEach fault was injected into a pod of podctl's and of a kubelet's (v1.37.2, standalone), on containerd 2.4\n" +
		"and on CRI-O 1.34, by `TestGallery`. A cell is the LAYER that the command named; `-` is one that it did not\n" +
		"know, a word in italics a wrong layer that it accused for some time. n/a: that owner or runtime cannot have the\n" +
		"fault. The evidence is of the first column that has it.\n\n")
	fmt.Fprintf(&b, "| fault | `podctl` | right | %s | evidence |\n|%s\n", strings.Join(galleryColumns, " | "), strings.Repeat("---|", 4+len(galleryColumns)))
	for _, f := range faults() {
		cells, evidence := []string{}, ""
		for _, column := range galleryColumns {
			a := readAnswers(t, column)[f.pod]
			switch {
			case f.why(column) != "":
				cells = append(cells, "n/a")
			case a == nil:
				cells = append(cells, "not run")
			case a.Wrong != "":
				cells = append(cells, a.Layer+", *"+a.Wrong+"*")
			default:
				cells = append(cells, a.Layer)
			}
			if a != nil && evidence == "" {
				evidence = a.Evidence
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.what, f.command, f.layer, strings.Join(cells, " | "), evidence)
	}
	b.WriteString("\n## Leaks\n\nWhat pods left that are gone, by `TestGalleryOfLeaks`: the class that `podctl orphans` gave it after ten\nminutes. `--kill` removed all of it.\n\n" +
		"| leak | right | containerd | crio | evidence |\n|---|---|---|---|---|\n")
	for i := range leakFaults {
		f := &leakFaults[i]
		cells, evidence := []string{}, ""
		for _, kind := range []string{live.Containerd, live.CRIO} {
			a := readAnswers(t, "leaks on "+kind)[f.pod]
			switch {
			case f.without[kind] != "":
				cells = append(cells, "n/a")
			case a == nil:
				cells = append(cells, "not run")
			default:
				cells = append(cells, a.Layer)
			}
			if a != nil && evidence == "" {
				evidence = a.Evidence
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.what, f.class, strings.Join(cells, " | "), evidence)
	}
	testutil.Golden(t, *galleryUpdate, "../../docs/gallery.md", b.String())
}
