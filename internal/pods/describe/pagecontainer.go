package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
)

// containerWhy returns what is wrong with a container, "" if nothing is.
func (p *page) containerWhy(c *view.Container) string {
	end := c.Failure()
	switch {
	case c.State == view.Running && c.Gone:
		return fmt.Sprintf("the runtime reports it as running, and its process (pid %d) has ended", c.PID)
	case c.State == view.Running && c.Frozen != "":
		return "frozen by the cgroup " + c.Frozen
	case c.State == view.Waiting && end != nil:
		return pod.Joined("; ", p.exit(end), p.retry(c))
	case c.State == view.Waiting && c.Reason == "CrashLoopBackOff" && c.Last != nil && c.Last.Cause.Kind == view.CauseCompleted:
		return pod.Joined("; ", p.exit(c.Last)+": "+c.Last.Cause.Text, p.retry(c))
	case c.State == view.Waiting && c.Reason != "" && c.Reason != "PodInitializing" && c.Reason != "ContainerCreating":
		return pod.Joined("; ", pod.Joined(": ", c.Reason, pod.ErrorText(c.Message)), p.retry(c))
	case end != nil:
		return p.exit(end)
	case c.State == view.Unknown:
		return "the runtime does not know its state"
	}
	for _, probe := range c.Probes {
		if probe.Result != "" {
			return probeText(probe)
		}
	}
	switch {
	case c.Unready():
		return "runs and is not ready"
	case c.Kind == view.KindInit && c.State == view.Running:
		return "init container, has been running for " + age(p.now.Sub(c.StartedAt))
	}
	return ""
}

// exit returns "exited 137 after 2s, 8s ago: OOMKilled: killed by the kernel …".
func (p *page) exit(e *view.End) string {
	text := e.Text()
	if !e.StartedAt.IsZero() && !e.FinishedAt.IsZero() {
		text += " after " + age(e.FinishedAt.Sub(e.StartedAt))
	}
	if !e.FinishedAt.IsZero() {
		text += ", " + p.ago(e.FinishedAt)
	}
	reason, cause, message := e.Reason, "", ""
	if reason == "Error" || reason == "Completed" || reason == view.ReasonLost {
		reason = ""
	}
	if e.Cause.Kind != view.CauseCompleted && (e.Cause.Kind != view.CauseExit || e.ExitCode == why.ShellNoExec || e.ExitCode == why.ShellNotFound) {
		cause = marked(e.Cause.Text, e.Cause.Confidence)
	}
	if e.Message != "" {
		message = fmt.Sprintf("%q", pod.ErrorText(e.Message))
	}
	return pod.Joined(": ", text, reason, cause, message)
}

// retry returns when a container that waits is started again.
func (p *page) retry(c *view.Container) string {
	switch left := c.RetryAt.Sub(p.now); {
	case c.RetryAt.IsZero():
		return ""
	case c.BackOffSeconds == 0 && left > 0:
		return "tried again in " + age(left)
	case c.BackOffSeconds == 0:
		return "tried again now"
	case left > 0:
		return fmt.Sprintf("restarts in %s (back-off %s)", age(left), age(time.Duration(c.BackOffSeconds*float64(time.Second))))
	}
	return "restarts now"
}

func (p *page) container(c *view.Container) {
	state := c.State
	switch c.State {
	case view.Running:
		if !c.StartedAt.IsZero() {
			state += " for " + age(p.now.Sub(c.StartedAt))
		}
		if c.PID != 0 {
			state += fmt.Sprintf(", pid %d", c.PID)
		}
		if c.Starting {
			state += ", its postStart hook runs"
		}
		if c.Ready != nil && c.Kind != view.KindInit {
			state += map[bool]string{true: ", ready", false: ", not ready"}[*c.Ready]
		}
	case view.Waiting:
		state = pod.Joined(", ", state+pod.Prefixed(": ", c.Reason), p.retry(c))
	case view.Terminated:
		if state = "exited, how is not known"; c.End != nil {
			state = p.exit(c.End)
		}
	}
	if c.Restarts > 0 {
		state += ", " + restarts(c.Restarts)
	}
	if c.Kind != "" && c.Kind != view.KindRegular {
		state = string(c.Kind) + ", " + state
	}
	key := func(name string) string { return "    " + name }
	p.row("  "+c.Name, state)
	p.row(key("waits"), pod.ErrorText(c.Message))
	p.evidence(key("evidence"), c.End)
	if c.Last != nil {
		p.row(key("last run"), p.exit(c.Last))
		p.evidence(key("evidence"), c.Last)
	}
	for _, other := range c.OtherRuns {
		p.row(key("also"), pod.Joined(", ", fmt.Sprintf("attempt %d %s", other.Attempt, other.State)+pod.Prefixed(" for ", p.since(other.StartedAt)), pidText(other.PID), "id "+pod.ShortID(other.ID)))
	}
	p.row(key("image"), c.Image)
	p.row(key("id"), pod.Joined(", ", pod.ShortID(c.ID), pod.Prefixed("user ", c.User)))
	p.row(key("command"), quoted(c.Command))
	p.row(key("args"), quoted(c.Args))
	p.row(key("resources"), pod.Joined("; ", pod.Prefixed("limits ", pairs(c.Limits)), pod.Prefixed("requests ", pairs(c.Requests))))
	p.cgroup(key("cgroup"), c.Cgroup)
	for _, text := range c.Denied {
		p.row(key("denied"), text)
	}
	for _, probe := range c.Probes {
		p.row(key(string(probe.Type)), pod.Joined(": ", pod.Joined(" every ", probe.Handler, period(probe.Period)), probeText(probe)))
	}
	p.row(key("postStart"), c.PostStart)
	p.row(key("ports"), strings.Join(c.Ports, ", "))
	for _, e := range c.Env {
		p.row(key("env"), e.Name+cmp.Or(pod.Prefixed(" from ", e.From), "="+e.Value))
	}
	for _, m := range c.Mounts {
		p.row(key("mounts"), mountText(m))
	}
	if len(c.LogLines) > 0 {
		p.line(key("last log lines"))
		for _, l := range c.LogLines {
			p.line("    > " + oneLine(l))
		}
	}
}

func (p *page) since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return age(p.now.Sub(at))
}

func pidText(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf("pid %d", pid)
}

// evidence of a cause that is not plain.
func (p *page) evidence(key string, e *view.End) {
	if e == nil {
		return
	}
	for _, text := range e.Cause.Evidence {
		p.row(key, text)
	}
	if e.Cause.Confidence == string(why.Unknown) && len(e.Cause.Evidence) == 0 {
		p.row(key, "none")
	}
}

func period(seconds int32) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%ds", seconds)
}

// probeText is "readiness failed 3 times: connection refused"; "" of a probe that passes.
func probeText(p view.Probe) string {
	if p.Result == "" {
		return ""
	}
	text := string(p.Type) + " " + p.Result
	if p.Failures > 1 {
		text += fmt.Sprintf(", %d times in a row", p.Failures)
	}
	return pod.Joined(": ", text, p.Output)
}

func mountText(m view.Mount) string {
	from := pod.Joined(" ", pod.Prefixed("volume ", m.Volume), pod.Prefixed("image ", m.Image), m.HostPath)
	text := pod.Joined(" from ", m.Path, from)
	if m.ReadOnly {
		text += " (read-only)"
	}
	return text
}

// quoted are arguments, those with spaces in quotes.
func quoted(args []string) string {
	shown := make([]string, len(args))
	for i, a := range args {
		if shown[i] = a; a == "" || strings.ContainsAny(a, " \t\n\"'") {
			shown[i] = fmt.Sprintf("%q", a)
		}
	}
	return strings.Join(shown, " ")
}

// oneLine is a text that its writer may have broken into lines.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// age is a duration as kubectl shows it; one that a clock which was set back makes negative
// is not known.
func age(d time.Duration) string {
	if d > 0 && d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	if d <= -2*time.Second {
		return "an unknown time (a clock was set back)"
	}
	return duration.HumanDuration(max(0, d))
}

// ago is "41s ago", or "3m in the future" after a clock was set back.
func (p *page) ago(t time.Time) string {
	if ahead := t.Sub(p.now); ahead >= 2*time.Second {
		return age(ahead) + " in the future"
	}
	return age(p.now.Sub(t)) + " ago"
}

// pairs are labels and amounts, in the order of their keys.
func pairs(m map[string]string) string {
	var all []string
	for k, v := range m {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func restarts(n int32) string {
	if n == 1 {
		return "1 restart"
	}
	return fmt.Sprintf("%d restarts", n)
}
