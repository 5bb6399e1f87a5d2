package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/preempt"
)

// TestPreempt gives every recorded node to preempt.Resolve and compares the
// victims, in the order killed, whether the preemptor is admitted, and the
// error. What a failing kill changes is tested in node (killFails).
func TestPreempt(t *testing.T) {
	for _, c := range readPreemptCases(t, oracleDir(t, "preempt")) {
		t.Run(fmt.Sprintf("case-%d", c.Case), func(t *testing.T) { replayPreempt(t, c) })
	}
}

// preemptCase is one line of cases.jsonl: a node, and the kubelet's answer.
type preemptCase struct {
	Case         int               `json:"case"`
	Preemptor    *v1.Pod           `json:"preemptor"`
	Pods         []*v1.Pod         `json:"pods"`
	Insufficient []preemptShortage `json:"insufficient"`
	// OtherReason: there is also a failure that is not about resources.
	OtherReason bool `json:"otherReason"`

	Victims  []string `json:"victims"`
	Admitted bool     `json:"admitted"`
	Err      string   `json:"err"`
}

type preemptShortage struct {
	Resource  v1.ResourceName `json:"resource"`
	Requested int64           `json:"requested"`
	Used      int64           `json:"used"`
	Capacity  int64           `json:"capacity"`
}

func readPreemptCases(t *testing.T, dir string) []preemptCase {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []preemptCase
	for lines := json.NewDecoder(file); lines.More(); {
		var c preemptCase
		if err := lines.Decode(&c); err != nil {
			t.Fatalf("case %d: %v", len(all)+1, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		t.Fatalf("%s holds no case", dir)
	}
	return all
}

func replayPreempt(t *testing.T, c preemptCase) {
	var failures []preempt.Failure
	for _, s := range c.Insufficient {
		failures = append(failures, preempt.ShortOf(preempt.Usage{
			Resource: s.Resource, Requested: s.Requested, Used: s.Used, Allocatable: s.Capacity,
		}))
	}
	if c.OtherReason {
		failures = append(failures, preempt.Predicate("NodePorts", "taken"))
	}
	left, plan := preempt.Resolve(c.Preemptor, c.Pods, failures)

	victims, failed := []string{}, ""
	if plan != nil {
		for _, p := range plan.Victims {
			victims = append(victims, p.Name)
		}
		if err := plan.Err(); err != nil {
			failed = err.Error()
		}
	}
	if diff := cmp.Diff(c.Victims, victims); diff != "" {
		t.Errorf("victims (-kubelet +podctl):\n%s", diff)
	}
	if admitted := len(left) == 0 && failed == ""; admitted != c.Admitted {
		t.Errorf("admitted %v, the kubelet %v", admitted, c.Admitted)
	}
	if failed != c.Err {
		t.Errorf("error %q, the kubelet's %q", failed, c.Err)
	}
}
