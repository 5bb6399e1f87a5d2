package pods

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
	"github.com/podctl/podctl/internal/sys/proc"
)

// TerminatingPod is one pod of `podctl terminating -o json`.
type TerminatingPod struct {
	Metadata         terminatingMetadata    `json:"metadata"`                   // of the pod
	Owner            string                 `json:"owner"`                      // as in podctl pods
	Since            time.Time              `json:"since,omitzero"`             // when termination began, if known
	GraceLeftSeconds *int64                 `json:"graceLeftSeconds,omitempty"` // rest of the grace period, negative once it is exceeded
	Running          []terminatingContainer `json:"running"`                    // containers that still run
	Layer            why.Layer              `json:"layer"`                      // process, cgroup, hook, shim, runtime, network, volume, lock, worker; - if nothing is stuck
	Confidence       why.Confidence         `json:"confidence"`                 // observed, likely or unknown
	Why              string                 `json:"why,omitempty"`              // what was observed
	LastError        string                 `json:"lastError,omitempty"`        // error of the owner's last operation
	Next             []string               `json:"next,omitempty"`             // commands to try
}

// terminatingMetadata is the identity of a pod.
type terminatingMetadata struct {
	Namespace string `json:"namespace"` // empty for a pod that only its volumes name
	Name      string `json:"name"`      // the UID for a pod that only its volumes name
	UID       string `json:"uid"`       // pod UID
}

// terminatingContainer is a container that still runs.
type terminatingContainer struct {
	Name  string `json:"name"`            // container name
	ID    string `json:"id"`              // container id
	PID   int    `json:"pid,omitempty"`   // first process, or one that cannot be killed, according to the runtime
	State string `json:"state,omitempty"` // state letter of the kernel; gone if no process has the PID, hidden if it is not visible to podctl
	WChan string `json:"wchan,omitempty"` // kernel function in which the process sleeps
}

func metadataOf(p *view.Pod) terminatingMetadata {
	return terminatingMetadata{p.Namespace, p.Name, string(p.UID)}
}

func terminatingList() output.List {
	return output.List{Header: []string{"POD", "SINCE", "GRACE", "RUNNING", "LAYER", "LAST ERROR"}, Wide: []string{"OWNER", "WHY"}}
}

func terminatingItem(p *view.Pod, now time.Time) output.Item {
	v, e := why.Ending(p, now), &p.Ending
	d := TerminatingPod{
		Metadata: metadataOf(p), Owner: ownerText(p), Since: e.Requested, Running: []terminatingContainer{},
		Layer: v.Layer, Confidence: v.Confidence, Why: v.Why(now), LastError: e.LastError.Text, Next: v.Next,
	}
	grace, name := "-", p.DisplayName()
	if p.Namespace == "" {
		name = p.Name // the UID of a pod that nothing names any more
	}
	if e.GraceLeft != nil {
		left := int64(e.GraceLeft.Round(time.Second) / time.Second)
		d.GraceLeftSeconds, grace = &left, fmt.Sprintf("%ds", left)
	}
	var running, texts []string
	for i := range e.Containers {
		c := newTerminatingContainer(&e.Containers[i])
		d.Running, running = append(d.Running, c), append(running, c.text())
	}
	if d.Why != "" {
		texts = []string{d.Why}
	}
	return output.Item{
		Name: p.CLIName(), Data: &d,
		Cells: []string{name, output.Since(now, d.Since), grace, cmp.Or(strings.Join(running, ", "), "-"), string(d.Layer), cmp.Or(output.OneLine(pod.ErrorText(d.LastError)), "-")},
		Wide:  []string{d.Owner, cmp.Or(d.Why, "-")}, Notes: notes(d.Confidence, texts, d.Next),
	}
}

// text is "db (pid 8812, D nfs_wait)".
func (c terminatingContainer) text() string {
	if c.PID == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s (pid %d, %s)", c.Name, c.PID, strings.TrimSpace(c.State+" "+c.WChan))
}

func newTerminatingContainer(c *view.ContainerProcess) terminatingContainer {
	d := terminatingContainer{Name: c.Name, ID: c.ID, PID: c.PID}
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
