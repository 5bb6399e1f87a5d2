package main

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
)

// lastLines is how much of what a failed container wrote is shown.
const lastLines = 20

// failure is a pod that did not do what the run waited for.
type failure struct {
	pod     string
	reasons []reason
}

// reason is why, for one container or for the pod itself.
type reason struct {
	text string
	hint string
	// said is what the container wrote last.
	said []string
}

// runError says which pods failed and why.
type runError struct {
	summary  string
	failures []failure
}

func (e *runError) Error() string {
	var b strings.Builder
	b.WriteString(e.summary)
	for _, f := range e.failures {
		for _, r := range f.reasons {
			fmt.Fprintf(&b, "\n  %s%s", f.pod, r.text)
			if len(r.said) > 0 {
				b.WriteString("; its last lines:")
			}
			for _, line := range r.said {
				b.WriteString("\n  > " + line)
			}
			if r.hint != "" {
				b.WriteString("\n  hint: " + r.hint)
			}
		}
	}
	return b.String()
}

// failures judges the wanted pods as they are now. It reads the log files,
// so it comes before they are removed.
func (r *running) failures() []failure {
	var failures []failure
	for _, d := range r.want {
		i, ok := r.last[d.Pod.UID]
		if !ok || i.Wait.Reason == lifecycle.RuntimeUnavailable {
			failures = append(failures, failure{
				pod:     pod.DisplayName(d.Pod.Namespace, d.Pod.Name),
				reasons: []reason{{text: " was not started: the runtime did not say what it holds"}},
			})
			continue
		}
		if i.Succeeded() || r.opts.wait == waitReady && i.Ready() {
			continue
		}
		failures = append(failures, failure{
			pod:     pod.DisplayName(i.Pod.Namespace, i.Pod.Name),
			reasons: r.reasons(i),
		})
	}
	return failures
}

// reasons is why a pod failed, never empty.
func (r *running) reasons(i node.Info) []reason {
	if err := i.Refused(); err != nil {
		why := reason{text: ": " + err.Error()}
		if hinted, ok := err.(interface{ Hint() string }); ok {
			why.hint = hinted.Hint()
		}
		return []reason{why}
	}
	var all []reason
	if i.Status.Reason != "" {
		all = append(all, reason{text: ": " + strings.TrimSuffix(i.Status.Reason+": "+i.Status.Message, ": ")})
	}
	for _, c := range pod.Statuses(&i.Status) {
		if why, ok := containerReason(c); ok {
			why.said = r.said(i, c)
			all = append(all, why)
		}
	}
	if len(all) == 0 && !i.LastError.IsZero() {
		all = append(all, reason{text: ": " + i.LastError.Text})
	}
	if text := notReady(&i.Status); len(all) == 0 && r.opts.wait == waitReady && text != "" {
		all = append(all, reason{text: " is not ready: " + text})
	}
	if len(all) == 0 {
		all = append(all, reason{text: " is " + strings.ToLower(phaseText(i))})
	}
	return all
}

// notReady is what keeps a pod that runs from being ready, "" if nothing does.
func notReady(s *v1.PodStatus) string {
	for _, c := range s.Conditions {
		if c.Type == v1.PodReady && c.Status != v1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// containerReason is why a container failed or does not run; ok is false if
// it did not fail.
func containerReason(c v1.ContainerStatus) (why reason, ok bool) {
	switch w, t := c.State.Waiting, c.State.Terminated; {
	case t != nil && t.ExitCode != 0:
		why.text = "/" + exitText(c.Name, t)
		if t.StartedAt.Unix() <= 0 && t.Message != "" {
			why.text += ": " + t.Message // it never ran: the runtime says why
		}
	case w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing":
		why.text = "/" + c.Name + ": " + strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
		if last := c.LastTerminationState.Terminated; last != nil {
			why.text += fmt.Sprintf(" (last exit %d)", last.ExitCode)
		}
	default:
		return reason{}, false
	}
	return why, true
}

// said is what a container wrote last.
func (r *running) said(i node.Info, c v1.ContainerStatus) []string {
	lines, err := cri.TailLog(r.session.LogFile(i.Pod, c.Name, c.RestartCount), lastLines)
	if err != nil {
		return nil // it has written nothing
	}
	var said []string
	for _, line := range lines {
		said = append(said, output.Printable(line.Text))
	}
	return said
}
