package why

import (
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Kind is the kind of a piece of evidence.
type Kind string

// The kinds.
const (
	KindProcess   Kind = "process"   // a process that works for the pod
	KindCall      Kind = "call"      // a step of its podctl process in progress
	KindError     Kind = "error"     // what its owner or the runtime says
	KindExit      Kind = "exit"      // how its program ended
	KindLog       Kind = "log"       // the last line that its program wrote, or what its kubelet logged
	KindProbe     Kind = "probe"     // what a probe said
	KindPath      Kind = "path"      // a path of a volume
	KindPull      Kind = "pull"      // a pull in flight
	KindCgroup    Kind = "cgroup"    // a cgroup that freezes it
	KindName      Kind = "name"      // a name that another pod or sandbox has
	KindCondition Kind = "condition" // of the runtime, or of the pod
	KindState     Kind = "state"     // of its sandbox and containers
	KindMeaning   Kind = "meaning"   // what the error before means
	KindDenied    Kind = "denied"    // what the kernel's log says that it was denied
	KindLooked    Kind = "looked"    // what was looked at and shows nothing
)

// Evidence is a thing that was observed. Fields that do not belong to its kind are missing.
type Evidence struct {
	Kind      Kind      `json:"kind"`                // process, call, error, exit, log, probe, path, pull, cgroup, name, condition, state, meaning, denied, looked
	Container string    `json:"container,omitempty"` // of the pod
	Source    string    `json:"source,omitempty"`    // who says so: runtime, kubelet, podctl, …
	Subject   string    `json:"subject,omitempty"`   // program, call, probe, path, image, name or condition
	Message   string    `json:"message,omitempty"`   // what was said, or what is the matter
	PID       int       `json:"pid,omitempty"`       // of a process
	State     string    `json:"state,omitempty"`     // of a process: the kernel's letter
	WChan     string    `json:"wchan,omitempty"`     // kernel function in which the process waits
	Command   []string  `json:"command,omitempty"`   // of a process
	ExitCode  *int32    `json:"exitCode,omitempty"`  // of an exit
	Text      string    `json:"text"`                // all of this in words; the printer sets it
	Since     time.Time `json:"since,omitzero"`      // when it began or happened
}

// Words returns the evidence in words, as of now.
func (e Evidence) Words(now time.Time) string {
	of := ""
	if e.Container != "" {
		of = e.Container + ": "
	}
	switch e.Kind {
	case KindProcess:
		text := fmt.Sprintf("%s (pid %d, %s)", e.Subject, e.PID, strings.TrimSpace(e.State+" "+e.WChan))
		return pod.Joined(" ", text, e.Message, e.lasting("has been running for", now))
	case KindCall:
		return pod.Joined(" ", of+e.Subject, e.lasting("has been in progress for", now))
	case KindError:
		return pod.Joined(": ", of+e.Source, pod.ErrorText(e.Message))
	case KindExit:
		return pod.Joined(", ", of+pod.ErrorText(e.Message), e.ago(now))
	case KindLog:
		if e.Source == "" {
			return of + "its last line: " + e.Message
		}
		return of + e.Message
	case KindProbe:
		return of + pod.Joined(": ", e.Subject, e.Message)
	case KindPath:
		return e.Subject + " " + e.Message
	case KindPull:
		return pod.Joined(", ", of+"pull of "+e.Subject, e.lasting("for", now))
	case KindCgroup:
		return "frozen by the cgroup " + e.Subject
	case KindName:
		return pod.Joined(" ", "name "+e.Subject, e.Message)
	case KindCondition:
		return pod.Joined(": ", e.Subject, pod.ErrorText(e.Message))
	case KindMeaning:
		return "means: " + e.Message
	case KindDenied:
		return of + "denied: " + e.Message
	case KindState, KindLooked:
	}
	return of + e.Message
}

func (e Evidence) lasting(words string, now time.Time) string {
	if e.Since.IsZero() {
		return ""
	}
	return words + " " + age(now.Sub(e.Since))
}

func (e Evidence) ago(now time.Time) string {
	if e.Since.IsZero() {
		return ""
	}
	return age(now.Sub(e.Since)) + " ago"
}

// age rounds to seconds: times here are seconds to hours.
func age(d time.Duration) string { return max(d, 0).Round(time.Second).String() }

func processEvidence(p *view.Process) Evidence {
	e := Evidence{Kind: KindProcess, Subject: p.Program(), PID: p.PID, State: p.State.String(), WChan: p.WaitChannel, Command: p.Command, Since: p.Started}
	if p.Blocked {
		e.State = proc.Uninterruptible.String()
	}
	switch {
	case p.Role == view.RoleCNI:
		e.Subject, e.Message = "CNI plugin "+e.Subject, strings.ToLower(p.Verb)
	case p.IsStopped():
		e.Message, e.Since = "is stopped", time.Time{}
	}
	return e
}

func pathEvidence(p view.Path) Evidence {
	e := Evidence{Kind: KindPath, Source: "volume " + p.Volume, Subject: p.Path, Message: p.Problem}
	if p.Hangs {
		e.Message = "does not answer"
	}
	return e
}

// inContainer returns the evidence with the name of the container; c may be nil.
func inContainer(c *view.Container, e Evidence) Evidence {
	if c != nil {
		e.Container = c.Name
	}
	return e
}
