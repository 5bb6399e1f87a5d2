package pods

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/pods/diagnose"
	"github.com/podctl/podctl/internal/sys/proc"
)

// TerminatingPod is one pod of `podctl terminating -o json`.
type TerminatingPod struct {
	Metadata         terminatingMetadata    `json:"metadata"`                   // of the pod
	Owner            string                 `json:"owner"`                      // as in podctl pods
	Since            time.Time              `json:"since,omitzero"`             // when termination began, if known
	GraceLeftSeconds *int64                 `json:"graceLeftSeconds,omitempty"` // rest of the grace period, negative once it is exceeded
	Running          []terminatingContainer `json:"running"`                    // containers that still run
	Layer            diagnose.Layer         `json:"layer"`                      // process, cgroup, hook, shim, runtime, network, volume, lock, worker; - if nothing is stuck
	Confidence       diagnose.Confidence    `json:"confidence"`                 // observed, likely or unknown
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

func terminatingList(pods []*terminating, now time.Time) output.List {
	l := output.List{Header: []string{"POD", "SINCE", "GRACE", "RUNNING", "LAYER", "LAST ERROR"}, Wide: []string{"OWNER", "WHY"}}
	for _, p := range pods {
		d := p.data(now)
		grace := "-"
		if d.GraceLeftSeconds != nil {
			grace = fmt.Sprintf("%ds", *d.GraceLeftSeconds)
		}
		var running []string
		for _, c := range d.Running {
			running = append(running, c.text())
		}
		item := output.Item{
			Name: p.CLIName(), Data: d,
			Cells: []string{p.displayName(), output.Since(now, d.Since), grace, cmp.Or(strings.Join(running, ", "), "-"), string(d.Layer), cmp.Or(output.OneLine(d.LastError), "-")},
			Wide:  []string{p.owner, cmp.Or(d.Why, "-")},
		}
		if d.Why != "" {
			item.Notes = append(item.Notes, "  "+whyText(d))
		}
		if len(d.Next) > 0 {
			item.Notes = append(item.Notes, "  hint: "+strings.Join(d.Next, " · "))
		}
		l.Items = append(l.Items, item)
	}
	return l
}

// displayName is NAMESPACE/NAME, or the UID of a pod that nothing names any more.
func (p *terminating) displayName() string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.DisplayName()
}

// whyText says what was observed, and marks what was inferred.
func whyText(d TerminatingPod) string {
	if d.Confidence == diagnose.Likely {
		return "likely: " + d.Why
	}
	return d.Why
}

// text is "db (pid 8812, D nfs_wait)".
func (c terminatingContainer) text() string {
	if c.PID == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s (pid %d, %s)", c.Name, c.PID, strings.TrimSpace(c.State+" "+c.WChan))
}

func (p *terminating) data(now time.Time) TerminatingPod {
	f := p.facts
	v := diagnose.Judge(*f, now)
	d := TerminatingPod{
		Owner: p.owner, Since: f.Requested, Running: []terminatingContainer{},
		Layer: v.Layer, Confidence: v.Confidence, Why: v.Why, Next: v.Next,
	}
	if f.Worker != nil {
		d.LastError = f.Worker.LastError.Text
	}
	d.Metadata = terminatingMetadata{p.Namespace, p.Name, string(p.UID)}
	if f.GraceLeft != nil {
		left := int64(f.GraceLeft.Round(time.Second) / time.Second)
		d.GraceLeftSeconds = &left
	}
	for _, c := range f.Containers {
		d.Running = append(d.Running, newTerminatingContainer(c))
	}
	return d
}

func newTerminatingContainer(c diagnose.Container) terminatingContainer {
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
