package runview

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

var podHeader = []string{"POD", "STATUS", "READY", "RESTARTS", "AGE", "NOW"}

// podRow returns a pod's line in the table. activity is what the pod is doing by its last
// event, "" if nothing.
func podRow(i node.Info, activity string, now time.Time) []string {
	d := i.Display()
	return []string{
		pod.DisplayName(i.Pod.Namespace, i.Pod.Name),
		d.Status,
		fmt.Sprintf("%d/%d", d.Ready, d.Containers),
		fmt.Sprint(d.Restarts),
		age(i, now),
		output.OneLine(pod.ErrorText(nowText(i, activity, now))),
	}
}

func age(i node.Info, now time.Time) string {
	if i.Status.StartTime == nil {
		return "-"
	}
	return output.Age(now.Sub(i.Status.StartTime.Time))
}

// nowText returns what the pod is doing: what it waits for, with the next retry as a
// countdown.
func nowText(i node.Info, activity string, now time.Time) string {
	switch {
	case i.Rejected != nil:
		return i.Rejected.Error() + retryText(i, now)
	case i.Terminating() && !pod.IsTerminal(i.Status.Phase):
		return terminatingText(i, now)
	case pod.IsTerminal(i.Status.Phase):
		return endText(&i.Status)
	}
	if text := waitingText(i, now); text != "" {
		return text
	}
	if activity != "" {
		return activity
	}
	if !i.LastError.IsZero() {
		return i.LastError.Text + retryText(i, now)
	}
	if c := runningInit(i); c != "" {
		return c + " runs"
	}
	return unreadyText(i)
}

// unreadyText returns why a running pod is not ready, by its probes: "web: readiness failed
// 3 times: connection refused"; else by its readiness gates; "" if it is ready by both.
func unreadyText(i node.Info) string {
	var texts []string
	for _, u := range i.Unready {
		texts = append(texts, u.Container+": "+u.Probe.Text())
	}
	return cmp.Or(strings.Join(texts, " · "), pod.UnmetGates(&i.Status))
}

func terminatingText(i node.Info, now time.Time) string {
	text := "stopping"
	if i.Grace > 0 && !i.StopRequested.IsZero() {
		left := time.Duration(i.Grace)*time.Second - now.Sub(i.StopRequested)
		if left >= 0 {
			text += fmt.Sprintf(", %s of %ds grace left", output.Age(left), i.Grace)
		} else {
			text += fmt.Sprintf(", %s past its grace of %ds", output.Age(-left), i.Grace)
		}
	}
	if !i.LastError.IsZero() && i.Op == worker.OpNone { // in between two tries
		text += " · " + i.LastError.Text + retryText(i, now)
	}
	return text
}

// waitingText returns the first container that could not start, and why.
func waitingText(i node.Info, now time.Time) string {
	waiting := pod.NotStarted(&i.Status)
	if len(waiting) == 0 {
		return ""
	}
	c := waiting[0]
	w := c.State.Waiting
	text := c.Name + ": " + w.Reason
	if w.Reason != "CrashLoopBackOff" && w.Message != "" {
		text += ": " + w.Message
	}
	text += retryText(i, now)
	if t := c.LastTerminationState.Terminated; t != nil {
		text += " · last exit " + fmt.Sprint(t.ExitCode)
		if t.Message != "" {
			text += fmt.Sprintf(" %q", t.Message)
		}
	}
	return text
}

func retryText(i node.Info, now time.Time) string {
	if left := i.NextWake.Sub(now); !i.NextWake.IsZero() && left > 0 {
		return ", again in " + output.Age(left.Round(time.Second))
	}
	return ""
}

func runningInit(i node.Info) string {
	if i.Status.Phase == v1.PodRunning {
		return ""
	}
	for n, c := range i.Status.InitContainerStatuses {
		if c.State.Running != nil && n < len(i.Pod.Spec.InitContainers) && !pod.IsSidecar(&i.Pod.Spec.InitContainers[n]) {
			return "init container " + c.Name
		}
	}
	return ""
}

// endText returns how the pod ended: its own reason, else its first failed
// container's end, else its last one's.
func endText(s *v1.PodStatus) string {
	if s.Reason != "" {
		return strings.TrimSuffix(s.Reason+": "+s.Message, ": ")
	}
	text := ""
	for _, c := range pod.Statuses(s) {
		if t := c.State.Terminated; t != nil {
			text = exitText(c.Name, t)
			if t.ExitCode != 0 {
				break
			}
		}
	}
	return text
}

func exitText(name string, t *v1.ContainerStateTerminated) string {
	text := fmt.Sprintf("%s exited %d", name, t.ExitCode)
	if t.Reason != "" && t.Reason != "Completed" && t.Reason != "Error" {
		text += ", " + t.Reason
	}
	return text
}
