package main

import (
	"fmt"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/render"
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
		if !ok || i.Succeeded() || r.opts.wait == waitReady && i.Ready() && i.Rejected == nil {
			continue
		}
		failures = append(failures, failure{
			pod:     pod.DisplayName(i.Pod.Namespace, i.Pod.Name),
			reasons: reasons(i, r.session.logDir(i)),
		})
	}
	return failures
}

// reasons is why a pod failed, never empty.
func reasons(i node.Info, logDir string) []reason {
	if i.Rejected != nil {
		r := reason{text: ": " + i.Rejected.Error()}
		if hinted, ok := i.Rejected.(interface{ Hint() string }); ok {
			r.hint = hinted.Hint()
		}
		return []reason{r}
	}
	var all []reason
	if i.Status.Reason != "" {
		all = append(all, reason{text: ": " + strings.TrimSuffix(i.Status.Reason+": "+i.Status.Message, ": ")})
	}
	for _, c := range containerStatuses(&i.Status) {
		if r, ok := containerReason(c, logDir); ok {
			all = append(all, r)
		}
	}
	if len(all) == 0 && i.LastError != "" {
		all = append(all, reason{text: ": " + i.LastError})
	}
	if len(all) == 0 {
		all = append(all, reason{text: " is " + strings.ToLower(phaseText(i))})
	}
	return all
}

// containerReason is why a container failed or does not run; ok is false if
// it did not fail.
func containerReason(c v1.ContainerStatus, logDir string) (r reason, ok bool) {
	attempt := uint32(c.RestartCount)
	switch w, t := c.State.Waiting, c.State.Terminated; {
	case t != nil && t.ExitCode != 0:
		r.text = "/" + exitText(c.Name, t)
		if t.ExitCode != 0 && t.StartedAt.Unix() <= 0 && t.Message != "" {
			r.text += ": " + t.Message // it never ran: the runtime says why
		}
	case w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing":
		r.text = "/" + c.Name + ": " + strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
		if last := c.LastTerminationState.Terminated; last != nil {
			r.text += fmt.Sprintf(" (last exit %d)", last.ExitCode)
		}
	default:
		return reason{}, false
	}
	lines, err := cri.TailLog(filepath.Join(logDir, render.LogPath(c.Name, attempt)), lastLines)
	if err != nil {
		return r, true // it has written nothing
	}
	for _, line := range lines {
		r.said = append(r.said, printable(line.Text))
	}
	return r, true
}
