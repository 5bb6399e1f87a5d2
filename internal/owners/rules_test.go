package owners

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/podctl/podctl/testkit/testutil"
)

var update = flag.Bool("update", false, "write the golden files")

// combinations are all combinations of evidence.
func combinations() []Evidence {
	var all []Evidence
	for creator := NoSandbox; creator <= CreatedByPodctl; creator++ {
		for process := NoProcess; process <= ProcessRuns; process++ {
			for source := NotNamed; source <= SourceNamesUID; source++ {
				for kubelet := KubeletAbsent; kubelet <= KubeletNames; kubelet++ {
					for _, runs := range []bool{false, true} {
						all = append(all, Evidence{creator, process, source, kubelet, runs})
					}
				}
			}
		}
	}
	return all
}

// TestMatrix has the verdict of every combination of evidence: testdata/matrix.txt has a
// line for each.
func TestMatrix(t *testing.T) {
	var b strings.Builder
	for _, e := range combinations() {
		r := decide(e)
		runs := "idle"
		if e.Runs {
			runs = "runs"
		}
		fmt.Fprintf(&b, "%-10s %s", r.relation, r.by)
		fmt.Fprintf(&b, " | created by: %s | process: %s | source: %s | kubelet: %s | %s\n", e.Creator, e.Process, e.Source, e.Kubelet, runs)
	}
	testutil.Golden(t, *update, "testdata/matrix.txt", b.String())
}

// A pod is of nobody only where nothing at all speaks for an owner, and none of those that
// may be it is unknown.
func TestNoneNeedsEveryPossibleOwnerToHaveAnswered(t *testing.T) {
	for _, e := range combinations() {
		got := decide(e).relation
		mayBeKubelets := e.Creator == CreatedByKubelet || e.Creator == NoSandbox
		// A name that is locked says nothing of a pod that podctl did not create: the
		// process that has it waits for that pod's end.
		locked := e.Process == ProcessHoldsName && (e.Creator == CreatedByPodctl || e.Creator == NoSandbox)
		owned := slices.Contains([]ProcessEvidence{ProcessRuns, CreatorLives, ProcessSilent, ProcessWaits, ProcessUnseen, NamesakeLives}, e.Process) || locked ||
			e.Source != NotNamed || e.Kubelet == KubeletNames ||
			mayBeKubelets && (e.Kubelet == KubeletUnsettled || (e.Kubelet == KubeletOmits || e.Kubelet == KubeletSourcesOmit) && e.Runs) ||
			e.Creator == CreatedByKubelet && e.Kubelet == KubeletAbsent
		if (got == None) == owned {
			t.Errorf("%+v: %s", e, got)
		}
	}
}

// More evidence of a podctl process never makes a pod less owned by one.
func TestStrongerEvidenceOfAProcessNeverLosesItsPod(t *testing.T) {
	for _, e := range combinations() {
		if e.Process == ProcessRuns {
			continue
		}
		with := e
		with.Process = ProcessRuns
		if got := decide(with); got.relation != Manages || got.by != ByPodctl {
			t.Errorf("%+v: %s by %s", with, got.relation, got.by)
		}
	}
}

const (
	page      = "../../docs/ownership.md"
	pageBegin = "<!-- table: written by go test ./internal/owners -update -->\n"
	pageEnd   = "<!-- end of table -->\n"
)

// TestTableInTheDocs keeps the table of docs/ownership.md true.
func TestTableInTheDocs(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, hasBegin := strings.Cut(string(text), pageBegin)
	_, tail, hasEnd := strings.Cut(rest, pageEnd)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no table", page)
	}
	testutil.Golden(t, *update, page, head+pageBegin+table()+pageEnd+tail)
}

func table() string {
	var b strings.Builder
	b.WriteString("| podctl processes | created by | sources | kubelet | runs | verdict | by |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rules {
		runs := ""
		if r.runs {
			runs = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | **%s** | %s |\n", cell(r.process), cell(r.creator), cell(r.source), cell(r.kubelet), runs, r.relation, r.by)
	}
	return b.String()
}

func cell[T fmt.Stringer](column []T) string {
	var words []string
	for _, v := range column {
		words = append(words, v.String())
	}
	return strings.Join(words, "; or ")
}

func TestNamesOfRelations(t *testing.T) {
	for r := None; r <= Unknown; r++ {
		if strings.Contains(r.String(), "(") {
			t.Errorf("relation %d has no name", r)
		}
	}
	for k := Nobody; k <= BySource; k++ {
		if strings.Contains(k.String(), "(") {
			t.Errorf("kind of owner %d has no name", k)
		}
	}
}
