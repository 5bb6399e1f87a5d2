package tape

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/podctl/podctl/internal/pod"
)

// The functions of this file copy field by field: a field that they do not name
// is not recorded.

func fromPod(p *pod.Pod) podLine {
	l := podLine{UID: p.UID, Namespace: p.Namespace, Name: p.Name}
	for _, s := range p.Sandboxes {
		l.Sandboxes = append(l.Sandboxes, sandboxLine{ID: s.ID, Attempt: s.Attempt, State: s.State.String(), Created: utc(s.CreatedAt)})
	}
	for _, c := range p.Containers {
		l.Containers = append(l.Containers, containerLine{
			ID: c.ID, Sandbox: c.SandboxID, Name: c.Name, Attempt: c.Attempt, State: c.State.String(), Created: utc(c.CreatedAt),
		})
	}
	return l
}

func (l podLine) pod() *pod.Pod {
	p := &pod.Pod{UID: l.UID, Namespace: l.Namespace, Name: l.Name}
	for _, s := range l.Sandboxes {
		p.Sandboxes = append(p.Sandboxes, &pod.Sandbox{ID: s.ID, Attempt: s.Attempt, State: stateOf(s.State), CreatedAt: s.Created})
	}
	for _, c := range l.Containers {
		p.Containers = append(p.Containers, &pod.Container{
			ID: c.ID, SandboxID: c.Sandbox, Name: c.Name, Attempt: c.Attempt, State: stateOf(c.State), CreatedAt: c.Created,
		})
	}
	return p
}

func fromPods(pods []*pod.Pod) []podLine {
	lines := make([]podLine, len(pods))
	for i, p := range pods {
		lines[i] = fromPod(p)
	}
	return lines
}

func toPods(lines []podLine) []*pod.Pod {
	pods := make([]*pod.Pod, len(lines))
	for i, l := range lines {
		pods[i] = l.pod()
	}
	return pods
}

func fromStatus(st *pod.Status) *statusLine {
	l := &statusLine{UID: st.UID, Namespace: st.Namespace, Name: st.Name, IPs: st.IPs}
	for _, s := range st.Sandboxes {
		l.Sandboxes = append(l.Sandboxes, sandboxLine{
			ID: s.ID, Attempt: s.Attempt, State: s.State.String(), Created: utc(s.CreatedAt), IPs: s.IPs, HostNetwork: s.HostNetwork,
		})
	}
	for _, c := range st.Containers {
		l.Containers = append(l.Containers, containerLine{
			ID: c.ID, Sandbox: c.SandboxID, Name: c.Name, Attempt: c.Attempt, State: c.State.String(), Created: utc(c.CreatedAt),
			Started: utc(c.StartedAt), Finished: utc(c.FinishedAt), ExitCode: c.ExitCode, Reason: oneWord(c.Reason), Restarts: c.RestartCount,
		})
	}
	return l
}

func (l *statusLine) status() *pod.Status {
	st := &pod.Status{UID: l.UID, Namespace: l.Namespace, Name: l.Name, IPs: l.IPs}
	for _, s := range l.Sandboxes {
		st.Sandboxes = append(st.Sandboxes, &pod.SandboxStatus{
			ID: s.ID, Attempt: s.Attempt, State: stateOf(s.State), CreatedAt: s.Created, IPs: s.IPs, HostNetwork: s.HostNetwork,
		})
	}
	for _, c := range l.Containers {
		st.Containers = append(st.Containers, &pod.ContainerStatus{
			ID: c.ID, SandboxID: c.Sandbox, Name: c.Name, Attempt: c.Attempt, State: stateOf(c.State), CreatedAt: c.Created,
			StartedAt: c.Started, FinishedAt: c.Finished, ExitCode: c.ExitCode, Reason: c.Reason, RestartCount: c.Restarts,
		})
	}
	return st
}

func fromHint(h pod.Hint) *hintLine {
	l := &hintLine{ID: h.ID, UID: h.PodUID, Created: utc(h.Created), Deleted: h.Deleted}
	if h.State != pod.Unknown {
		l.State = h.State.String()
	}
	return l
}

func (l *hintLine) hint() pod.Hint {
	return pod.Hint{ID: l.ID, PodUID: l.UID, Created: l.Created, Deleted: l.Deleted, State: stateOf(l.State)}
}

// utc hides the time zone of the node.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

var states = []pod.State{pod.Unknown, pod.Created, pod.Running, pod.Exited}

// stateOf returns the state with that name, unknown if there is none.
func stateOf(name string) pod.State {
	i := slices.IndexFunc(states, func(s pod.State) bool { return s.String() == name })
	return states[max(i, 0)]
}

// oneWord returns a reason such as OOMKilled, and "" for a text.
func oneWord(reason string) string {
	for _, r := range reason {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || r > unicode.MaxASCII {
			return ""
		}
	}
	return reason
}

// maxError is how much of an error's text is kept.
const maxError = 500

// errorText is an error in one line.
func errorText(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + " …"
	}
	return cmp.Or(text, "error without a text")
}
