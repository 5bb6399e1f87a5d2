package pods

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/look"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
	"github.com/podctl/podctl/internal/sys/proc"
)

// StuckPod is one pod of `podctl starting -o json` and of `podctl terminating -o json`.
type StuckPod struct {
	Metadata         look.PodMetadata `json:"metadata"`                   // of the pod
	Owner            string           `json:"owner"`                      // as in podctl pods
	Step             why.Step         `json:"step,omitempty"`             // of a starting pod, if known: admission, host-port, device, queue, object, volume, sandbox, network, pull, create, start, hook, init, startup-probe, readiness, restart
	Container        string           `json:"container,omitempty"`        // of which the step is
	Since            time.Time        `json:"since,omitzero"`             // when the step or the termination began, if known
	GraceLeftSeconds *int64           `json:"graceLeftSeconds,omitempty"` // of a terminating pod, if known: rest of the grace period, negative once it is exceeded
	Running          []stuckContainer `json:"running,omitzero"`           // of a terminating pod: containers that still run
	Layer            why.Layer        `json:"layer"`                      // what it waits for: worker, admission, config, device, disk, volume, network, registry, image, runtime, shim, cgroup, kernel, process, hook, probe, application, lock; - if nothing is stuck, or that is not known
	Confidence       why.Confidence   `json:"confidence"`                 // observed, likely or unknown
	Evidence         []why.Evidence   `json:"evidence,omitempty"`         // what was observed
	Why              string           `json:"why,omitempty"`              // all of the evidence in words
	LastError        string           `json:"lastError,omitempty"`        // of a terminating pod: error of its owner's last operation
	Next             []string         `json:"next,omitempty"`             // commands to try
}

// stuckContainer is a container that still runs.
type stuckContainer struct {
	Name  string `json:"name"`            // container name
	ID    string `json:"id"`              // container id
	PID   int    `json:"pid,omitempty"`   // first process, or one that cannot be killed, according to the runtime
	State string `json:"state,omitempty"` // state letter of the kernel; gone if no process has the PID, hidden if it is not visible to podctl
	WChan string `json:"wchan,omitempty"` // kernel function in which the process sleeps
}

// stuckItem returns the pod as a verdict says what is the matter; its cells are POD and SINCE alone.
func stuckItem(p *view.Pod, v why.Verdict, now time.Time) (*StuckPod, output.Item) {
	d := &StuckPod{
		Metadata: look.MetadataOf(p), Owner: ownerText(p), Step: v.Step, Container: v.Container, Since: v.Since,
		Layer: v.Layer, Confidence: v.Confidence, Evidence: v.Evidence, Why: v.Why(now), Next: v.Next,
	}
	var texts []string
	for i := range d.Evidence {
		d.Evidence[i].Text = d.Evidence[i].Words(now)
		texts = append(texts, output.OneLine(d.Evidence[i].Text))
	}
	name := p.DisplayName()
	if p.Namespace == "" {
		name = p.Name // the UID of a pod that nothing names any more
	}
	return d, output.Item{
		Name: p.CLIName(), Data: d, Cells: []string{name, output.Since(now, d.Since)},
		Wide: []string{d.Owner, cmp.Or(output.OneLine(d.Why), "-")}, Notes: notes(d.Confidence, texts, d.Next),
	}
}

func startingItem(p *view.Pod, now time.Time) output.Item {
	d, item := stuckItem(p, why.Starting(p, now), now)
	item.Cells = append(item.Cells, cmp.Or(string(d.Step), "-"), cmp.Or(d.Container, "-"), string(d.Layer))
	return item
}

func terminatingItem(p *view.Pod, now time.Time) output.Item {
	d, item := stuckItem(p, why.Ending(p, now), now)
	grace, running := "-", []string{}
	if p.Ending.GraceLeft != nil {
		left := int64(p.Ending.GraceLeft.Round(time.Second) / time.Second)
		d.GraceLeftSeconds, grace = &left, fmt.Sprintf("%ds", left)
	}
	d.Running, d.LastError = []stuckContainer{}, p.Ending.LastError.Text
	for i := range p.Ending.Containers {
		c := newStuckContainer(&p.Ending.Containers[i])
		d.Running, running = append(d.Running, c), append(running, c.text())
	}
	item.Cells = append(item.Cells, grace, cmp.Or(strings.Join(running, ", "), "-"), string(d.Layer), cmp.Or(output.OneLine(pod.ErrorText(d.LastError)), "-"))
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

// text is "db (pid 8812, D nfs_wait)".
func (c stuckContainer) text() string {
	if c.PID == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s (pid %d, %s)", c.Name, c.PID, strings.TrimSpace(c.State+" "+c.WChan))
}

func newStuckContainer(c *view.ContainerProcess) stuckContainer {
	d := stuckContainer{Name: c.Name, ID: c.ID, PID: c.PID}
	switch {
	case c.PID == 0:
	case c.Gone:
		d.State = "gone"
	case c.Hidden:
		d.State = "hidden"
	default:
		d.PID, d.State = c.Process.PID, c.Process.State.String()
		if c.Process.State == proc.Uninterruptible {
			d.WChan = c.WaitChannel
		}
	}
	return d
}
