package runview

import (
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/jobs"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Failure is a pod that did not do what the run waited for.
type Failure struct {
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

// failedError returns the error for a run with failed pods: which failed, and why.
func failedError(summary string, failures []Failure) error {
	var b strings.Builder
	b.WriteString(summary)
	for _, f := range failures {
		for _, r := range f.reasons {
			fmt.Fprintf(&b, "\n  %s%s", f.pod, pod.ErrorText(r.text))
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
	return errors.New(b.String())
}

// Outcome is the state at the end of a run, from which Verdict is derived.
type Outcome struct {
	Want []node.Desired
	// Jobs are the Jobs beside them.
	Jobs []jobs.Record
	// Last is each pod as it was seen last.
	Last map[types.UID]node.Info
	// Ready: the run waited for ready pods, else for their end.
	Ready bool
	// Said returns the last lines that a container wrote.
	Said func(i node.Info, c v1.ContainerStatus) []string
}

// isUnlisted reports whether a pod has not started because the runtime has not
// yet reported what it holds.
func isUnlisted(i node.Info) bool {
	waits := i.Lifecycle == lifecycle.Waiting && (i.Wait.Reason == lifecycle.RuntimeUnavailable || i.Wait.Reason == lifecycle.Pending)
	return waits || i.Lifecycle == lifecycle.Starting
}

// Failures returns the wanted pods that did not do what the run waited for, and
// why. It calls Said, so it comes before log files are removed.
func (o *Outcome) Failures() []Failure {
	var failures []Failure
	for _, d := range o.Want {
		i, ok := o.Last[d.Pod.UID]
		if !ok || isUnlisted(i) {
			failures = append(failures, Failure{
				pod:     pod.DisplayName(d.Pod.Namespace, d.Pod.Name),
				reasons: []reason{{text: " was not started: the runtime did not say what it holds"}},
			})
			continue
		}
		if i.Succeeded() || o.Ready && i.Ready() {
			continue
		}
		failures = append(failures, Failure{
			pod:     pod.DisplayName(i.Pod.Namespace, i.Pod.Name),
			reasons: o.reasons(i),
		})
	}
	for _, record := range o.Jobs {
		if j := record.Current(); j != nil && !j.IsSuspended() && j.Status.CompletionTime == nil {
			failures = append(failures, o.failedJob(record, j))
		}
	}
	return failures
}

// IsOf reports whether a pod is one of a Job.
func IsOf(i node.Info, record jobs.Record) bool {
	return i.Pod.Namespace == record.Namespace && i.Pod.Labels[batchv1.JobNameLabel] == record.Name
}

// failedJob returns why a Job is not complete, with what its pod says that failed last.
func (o *Outcome) failedJob(record jobs.Record, j *jobs.Job) Failure {
	text := fmt.Sprintf(" is not complete: %d succeeded, %d failed", j.Status.Succeeded, j.Status.Failed)
	if end := j.Finished(); end != nil {
		text = ": " + end.Reason + ": " + end.Message
	}
	f := Failure{pod: "job " + pod.DisplayName(record.Namespace, record.Name), reasons: []reason{{text: text}}}
	var last *node.Info
	for _, i := range o.Last {
		if IsOf(i, record) && i.Status.Phase == v1.PodFailed && (last == nil || last.Status.StartTime.Before(i.Status.StartTime)) {
			last = &i
		}
	}
	if last != nil {
		for _, r := range o.reasons(*last) {
			r.text = ": pod " + last.Pod.Name + r.text
			f.reasons = append(f.reasons, r)
		}
	}
	return f
}

// Verdict returns the error that the run ends with, nil without failures. why is what
// interrupted the wait, nil if nothing did.
func (o *Outcome) Verdict(failures []Failure, why error) error {
	if len(failures) == 0 {
		return nil
	}
	of := "pods"
	if len(o.Want) == 0 {
		of = "jobs"
	} else if len(o.Jobs) > 0 {
		of = "pods and jobs"
	}
	text := fmt.Sprintf("%d of %d %s failed", len(failures), len(o.Want)+len(o.Jobs), of)
	if why != nil {
		text = fmt.Sprintf("%d of %d %s are %v", len(failures), len(o.Want)+len(o.Jobs), of, why)
	}
	return failedError(text, failures)
}

// reasons returns why a pod failed; it is never empty.
func (o *Outcome) reasons(i node.Info) []reason {
	if err := i.Rejected; err != nil {
		return []reason{{text: ": " + err.Error(), hint: hint.Of(err)}}
	}
	var all []reason
	if i.Status.Reason != "" {
		all = append(all, reason{text: ": " + strings.TrimSuffix(i.Status.Reason+": "+i.Status.Message, ": ")})
	}
	for _, c := range pod.Statuses(&i.Status) {
		if why, ok := containerReason(c); ok {
			why.said = o.Said(i, c)
			all = append(all, why)
		}
	}
	if len(all) == 0 && !i.LastError.IsZero() {
		all = append(all, reason{text: ": " + i.LastError.Text})
	}
	if text := notReady(i); len(all) == 0 && o.Ready && text != "" {
		all = append(all, reason{text: " is not ready: " + text})
	}
	if len(all) == 0 {
		all = append(all, reason{text: " is " + strings.ToLower(i.Display().Status)})
	}
	return all
}

// notReady returns why a running pod is not ready, by its probes, else by its condition; ""
// if it is ready.
func notReady(i node.Info) string {
	if text := unreadyText(i); text != "" {
		return text
	}
	for _, c := range i.Status.Conditions {
		if c.Type == v1.PodReady && c.Status != v1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// containerReason returns why a container failed or does not run; ok is false if it did not
// fail.
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
