package describe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
)

// Page returns the facts as text, as of now. It begins with what is wrong, and ends with
// the commands to try.
func Page(f *view.Pod, now time.Time) string {
	p := &page{now: now}
	head := []string{f.DisplayName(), f.Status, fmt.Sprintf("%d/%d ready", f.Ready, f.Total)}
	if f.Restarts > 0 {
		head = append(head, restarts(f.Restarts))
	}
	p.line(strings.Join(head, "  "))
	p.why(f)
	p.identity(f)
	if f.Manager != nil {
		p.worker(&f.Worker)
	}
	p.stopping(f.Stopping)
	p.sandbox(f)
	p.cgroup("Cgroup", f.Cgroup)
	for _, c := range f.Conditions {
		if c.Status != "True" {
			p.row("Condition", pod.Joined("  ", c.Type+" "+c.Status, c.Reason, pod.ErrorText(c.Message)))
		}
	}
	p.section("Containers")
	for i := range f.Containers {
		p.container(&f.Containers[i])
	}
	if len(f.Containers) == 0 {
		p.line("  none")
	}
	p.volumes(f.Volumes)
	p.events(f.Events)
	if len(f.Unread) > 0 {
		p.section("Not read")
		for _, u := range f.Unread {
			p.line("  " + u.Layer + ": " + oneLine(u.Why))
		}
	}
	for _, command := range f.Next {
		p.line("hint: " + command)
	}
	return p.String()
}

// page builds the text.
type page struct {
	strings.Builder
	now time.Time
	// last is the key of the last row: it is printed once.
	last string
	// psiUnknown is the last reason why PSI is not known: it is printed once.
	psiUnknown string
}

// keyWidth is the width of the column of keys.
const keyWidth = 14

func (p *page) line(text string) {
	p.last = ""
	p.WriteString(strings.TrimRight(text, " ") + "\n")
}

func (p *page) section(title string) { p.line(title) }

// row prints a key and a value, and nothing without a value. A key that the row before has
// is not repeated.
func (p *page) row(key, value string) {
	value = oneLine(value)
	if value == "" {
		return
	}
	shown := key
	if key == p.last {
		shown = ""
	}
	p.line(fmt.Sprintf("%-*s  %s", keyWidth, shown, value))
	p.last = key
}

// why prints what is wrong, a line for each cause.
func (p *page) why(f *view.Pod) {
	switch w := &f.Worker; {
	case w.Rejected != "": // the status of a rejected pod says less
		p.row("Why", pod.Joined(": ", w.WaitReason, pod.ErrorText(w.Rejected)))
	case f.Reason != "" || f.Message != "":
		p.row("Why", pod.Joined(": ", f.Reason, pod.ErrorText(f.Message)))
	case w.NotReady != "" && f.Stopping == nil:
		p.row("Why", "not ready: "+w.NotReady)
	}
	if s := f.Stopping; s != nil && s.Why != "" {
		p.row("Why", marked(s.Why, s.Confidence))
	}
	if f.Owner.Exited {
		p.row("Why", "the podctl process that created it has exited: nothing manages the pod")
	}
	for i := range f.Containers {
		c := &f.Containers[i]
		if text := p.containerWhy(c); text != "" {
			p.row("Why", c.Name+": "+text)
		}
		for _, other := range c.OtherRuns {
			verb := map[bool]string{true: "runs", false: "may run"}[other.State == view.Running]
			p.row("Why", fmt.Sprintf("%s: attempt %d %s beside attempt %d", c.Name, other.Attempt, verb, c.Attempt))
		}
	}
	for _, taken := range f.TakenPorts {
		p.row("Why", why.TakenPortText(taken))
	}
	if len(f.OtherReady) > 0 {
		p.row("Why", fmt.Sprintf("an older sandbox, %s, is ready beside the newest", pod.ShortID(f.OtherReady[0].ID)))
	}
	if f.Sandbox != nil && f.Sandbox.State != view.Ready && f.Phase != "Succeeded" && f.Phase != "Failed" && f.Stopping == nil {
		p.row("Why", "its sandbox is not ready: the pod has no network, and no container can start in it")
	}
}

// marked returns the text, marked as likely if it was inferred.
func marked(text string, confidence string) string {
	if confidence == string(why.Likely) {
		return "likely: " + text
	}
	return text
}

func (p *page) identity(f *view.Pod) {
	o := f.Owner
	owner := o.Kind
	switch {
	case o.Instance != "" && o.Exited:
		owner = "podctl " + o.Instance + " (exited)"
	case o.Instance != "":
		owner = "podctl " + o.Instance
	case o.Kind == "other":
		owner = "none that podctl knows"
	}
	if o.Elsewhere != "" {
		owner += ", and podctl " + o.Elsewhere + " by another endpoint"
	}
	if o.Source != "" {
		owner += ", source " + o.Source
	}
	p.row("Owner", owner)
	p.row("UID", string(f.UID))
	if !f.StartTime.IsZero() {
		p.row("Started", p.ago(f.StartTime))
	}
	if s := f.Spec; s != nil {
		text := []string{s.QOS, "restartPolicy " + s.RestartPolicy}
		if s.Priority != nil {
			text = append(text, fmt.Sprintf("priority %d", *s.Priority))
		}
		if s.GraceSeconds != nil {
			text = append(text, fmt.Sprintf("grace %ds", *s.GraceSeconds))
		}
		if s.Deadline != nil {
			text = append(text, fmt.Sprintf("deadline %ds", *s.Deadline))
		}
		if s.HostNetwork {
			text = append(text, "host network")
		}
		if s.HostPID {
			text = append(text, "host PIDs")
		}
		if s.RuntimeClass != "" {
			text = append(text, "runtime class "+s.RuntimeClass)
		}
		p.row("Spec", strings.Join(text, ", ")+" (from "+s.From+")")
	}
	p.row("Labels", pairs(f.Metadata.Labels))
}

func (p *page) worker(w *control.Worker) {
	text := w.Phase
	if text == "unknown" {
		text = "none"
	}
	if !w.Since.IsZero() {
		text += " for " + age(p.now.Sub(w.Since))
	}
	if w.Operation != "" {
		text += ", " + w.Operation + " in flight for " + age(p.now.Sub(w.OperationSince))
	}
	if w.Pending != "" {
		text += ", then " + w.Pending
	}
	if next := w.NextWake.Sub(p.now); !w.NextWake.IsZero() && next > 0 {
		text += ", next sync in " + age(next)
	}
	if w.Stopped {
		text += ", held by podctl stop"
	}
	if !w.Desired {
		text += ", desired by no source"
	}
	p.row("Worker", text)
	for _, c := range w.Calls {
		p.row("Worker", pod.Joined(" of ", "waits for "+c.Method, c.Container)+" for "+age(p.now.Sub(c.Since)))
	}
	if !w.LastError.IsZero() {
		p.row("Worker", pod.Joined(" of ", "last error", w.LastError.Op)+": "+pod.ErrorText(w.LastError.Text))
	}
}

func (p *page) stopping(s *view.Stopping) {
	if s == nil {
		return
	}
	text := "since an unknown time"
	if !s.Since.IsZero() {
		text = "for " + age(p.now.Sub(s.Since))
	}
	switch {
	case s.GraceLeft == nil:
	case *s.GraceLeft >= 0:
		text += ", " + age(time.Duration(*s.GraceLeft*float64(time.Second))) + " of the grace period left"
	default:
		text += ", " + age(time.Duration(-*s.GraceLeft*float64(time.Second))) + " over the grace period"
	}
	if s.Layer != string(why.LayerNone) {
		text += ", waits for: " + string(s.Layer)
	}
	p.row("Terminating", text)
}

func (p *page) sandbox(f *view.Pod) {
	s := f.Sandbox
	switch {
	case s == nil && slices.ContainsFunc(f.Unread, func(u view.Unread) bool { return u.Layer == view.LayerRuntime }):
		p.row("Sandbox", "not known")
		return
	case s == nil:
		p.row("Sandbox", "none")
		return
	}
	text := pod.ShortID(s.ID) + "  " + s.State + fmt.Sprintf("  attempt %d", s.Attempt)
	text = pod.Joined("  ", text, p.created(s.CreatedAt))
	if s.Handler != "" {
		text += "  handler " + s.Handler
	}
	if f.DeadSandboxes > 1 || f.DeadSandboxes == 1 && s.State == view.Ready {
		text += fmt.Sprintf("  (%d dead ones)", f.DeadSandboxes)
	}
	p.row("Sandbox", text)
	for _, other := range f.OtherReady {
		p.row("Sandbox", pod.Joined("  ", pod.ShortID(other.ID), fmt.Sprintf("ready, too  attempt %d", other.Attempt), p.created(other.CreatedAt), strings.Join(other.IPs, ", "), pod.Prefixed("netns ", other.NetNS)))
	}
	switch {
	case s.HostNetwork:
		p.row("Network", "the host's")
	default:
		p.row("Network", pod.Joined("  ", strings.Join(s.IPs, ", "), pod.Prefixed("netns ", s.NetNS)))
	}
	if s.PID != 0 {
		p.row("Network", fmt.Sprintf("pid %d", s.PID))
	}
}

func (p *page) created(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return "created " + p.ago(at)
}

func (p *page) volumes(volumes []view.Volume) {
	if len(volumes) == 0 {
		return
	}
	p.section("Volumes")
	for _, v := range volumes {
		p.row("  "+v.Name, pod.Joined(" ", v.Kind, v.Source))
	}
}

func (p *page) events(events []view.Event) {
	if len(events) == 0 {
		return
	}
	p.section("Events")
	reasons, containers := 0, 0
	for _, e := range events {
		reasons, containers = max(reasons, len(e.Reason)), max(containers, len(e.Container))
	}
	for _, e := range events {
		mark := "Normal"
		if e.Warning {
			mark = "Warning"
		}
		columns := []string{fmt.Sprintf("  %-8s  %-7s  %-*s", age(p.now.Sub(e.Time)), mark, reasons, e.Reason)}
		if containers > 0 {
			columns = append(columns, fmt.Sprintf("%-*s", containers, e.Container))
		}
		p.line(oneLine(strings.Join(append(columns, pod.ErrorText(e.Message)), "  ")))
	}
}
