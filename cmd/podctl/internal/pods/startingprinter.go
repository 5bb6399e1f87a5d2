package pods

import (
	"cmp"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/pods/diagnose"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/pods/starting"
)

// startingPod is a pod that should run and does not, with the facts about it.
type startingPod struct {
	*inventory.Pod
	facts *starting.Facts
}

// StartingPod is one pod of `podctl starting -o json`.
type StartingPod struct {
	Metadata   terminatingMetadata `json:"metadata"`            // of the pod
	Owner      string              `json:"owner"`               // as in podctl pods
	Step       starting.Step       `json:"step"`                // admission, host-port, device, queue, object, volume, sandbox, network, pull, create, start, hook, init, startup-probe, readiness, restart
	Container  string              `json:"container,omitempty"` // of which the step is
	Since      time.Time           `json:"since,omitzero"`      // when the step began, if known
	Layer      diagnose.Layer      `json:"layer"`               // what it waits for: worker, admission, config, device, disk, volume, network, registry, image, runtime, shim, cgroup, kernel, hook, probe, application, lock; - if nothing is stuck, or that is not known
	Confidence diagnose.Confidence `json:"confidence"`          // observed, likely or unknown
	Evidence   []starting.Evidence `json:"evidence"`            // what was observed
	Next       []string            `json:"next"`                // commands to try
}

func startingList(pods []*startingPod, now time.Time) output.List {
	l := output.List{Header: []string{"POD", "SINCE", "STEP", "CONTAINER", "LAYER"}, Wide: []string{"OWNER", "WHY"}}
	for _, p := range pods {
		d := p.data(now)
		item := output.Item{
			Name: p.CLIName(), Data: d,
			Cells: []string{p.DisplayName(), output.Since(now, d.Since), string(d.Step), cmp.Or(d.Container, "-"), string(d.Layer)},
			Wide:  []string{d.Owner, d.why()},
		}
		for i, e := range d.Evidence {
			text := output.OneLine(e.Text)
			if i == 0 && d.Confidence == diagnose.Likely {
				text = "likely: " + text
			}
			item.Notes = append(item.Notes, "  "+text)
		}
		if len(d.Next) > 0 {
			item.Notes = append(item.Notes, "  hint: "+strings.Join(d.Next, " · "))
		}
		l.Items = append(l.Items, item)
	}
	return l
}

func (d *StartingPod) why() string {
	var texts []string
	for _, e := range d.Evidence {
		texts = append(texts, output.OneLine(e.Text))
	}
	return strings.Join(texts, "; ")
}

func (p *startingPod) data(now time.Time) StartingPod {
	v := starting.Judge(p.facts, now)
	d := StartingPod{
		Metadata: terminatingMetadata{p.Namespace, p.Name, string(p.UID)}, Owner: ownerText(p.Pod), Step: v.Step, Container: v.Container, Since: v.Since,
		Layer: v.Layer, Confidence: v.Sure, Evidence: v.Evidence, Next: v.Next,
	}
	for i := range d.Evidence {
		d.Evidence[i].Text = d.Evidence[i].Words(now)
	}
	return d
}
