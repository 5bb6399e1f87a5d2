package pods

import (
	"cmp"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
)

// StartingPod is one pod of `podctl starting -o json`.
type StartingPod struct {
	Metadata   terminatingMetadata `json:"metadata"`            // of the pod
	Owner      string              `json:"owner"`               // as in podctl pods
	Step       why.Step            `json:"step"`                // admission, host-port, device, queue, object, volume, sandbox, network, pull, create, start, hook, init, startup-probe, readiness, restart; empty where it is not known
	Container  string              `json:"container,omitempty"` // of which the step is
	Since      time.Time           `json:"since,omitzero"`      // when the step began, if known
	Layer      why.Layer           `json:"layer"`               // what it waits for: worker, admission, config, device, disk, volume, network, registry, image, runtime, shim, cgroup, kernel, hook, probe, application, lock; - if nothing is stuck, or that is not known
	Confidence why.Confidence      `json:"confidence"`          // observed, likely or unknown
	Evidence   []why.Evidence      `json:"evidence"`            // what was observed
	Next       []string            `json:"next"`                // commands to try
}

func startingList() output.List {
	return output.List{Header: []string{"POD", "SINCE", "STEP", "CONTAINER", "LAYER"}, Wide: []string{"OWNER", "WHY"}}
}

func startingItem(p *view.Pod, now time.Time) output.Item {
	v := why.Starting(p, now)
	d := StartingPod{
		Metadata: metadataOf(p), Owner: ownerText(p), Step: v.Step, Container: v.Container, Since: v.Since,
		Layer: v.Layer, Confidence: v.Confidence, Evidence: v.Evidence, Next: v.Next,
	}
	item := output.Item{Name: p.CLIName(), Data: &d, Cells: []string{p.DisplayName(), output.Since(now, d.Since), cmp.Or(string(d.Step), "-"), cmp.Or(d.Container, "-"), string(d.Layer)}}
	var texts []string
	for i := range d.Evidence {
		e := &d.Evidence[i]
		e.Text = e.Words(now)
		texts = append(texts, output.OneLine(e.Text))
	}
	item.Wide = []string{d.Owner, strings.Join(texts, "; ")}
	item.Notes = notes(d.Confidence, texts, d.Next)
	return item
}

// notes are the lines below a row: what was observed, marked if it was inferred, and the commands
// to try.
func notes(sure why.Confidence, texts, next []string) []string {
	var lines []string
	for i, text := range texts {
		if i == 0 && sure == why.Likely {
			text = "likely: " + text
		}
		lines = append(lines, "  "+text)
	}
	if len(next) > 0 {
		lines = append(lines, "  hint: "+strings.Join(next, " · "))
	}
	return lines
}
