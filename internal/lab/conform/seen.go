package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Observation is a pod's run: what podctl and the runtime reported, and what its containers wrote.
type Observation struct {
	// Spec is the pod as it was run.
	Spec *v1.Pod
	// Refused is why the pod was not run, "" if it was: the handler lacks a feature, or the node
	// rejected the pod.
	Refused string
	// Late: the pod did not come as far as Until in time; Problem is the last error of podctl
	// about it, "" without one.
	Late    bool
	Problem string
	// Status is that of Until, Ended that at the end.
	Status, Ended v1.PodStatus
	Answers       []Answer
	// StopTook is the time from the request to remove the pod until it was gone.
	StopTook time.Duration
	// Lines are what each container wrote, of all its attempts.
	Lines map[string][]Line
	// Host are facts of the host, as podctl sees it.
	Host Facts
	// Events are the states that the runtime's events told of the pod's containers; nil if it
	// has no events for podctl.
	Events []string
}

// Line is a line of a log file, without what the runtime puts before it.
type Line struct {
	Time    time.Time
	Stream  string
	Attempt int
	Text    string
	// Raw are the lines of the file that it is made of.
	Raw []string
}

// text returns what a container wrote, line by line.
func (s *Observation) text(container string) []string {
	var all []string
	for _, l := range s.Lines[container] {
		if !strings.HasPrefix(l.Text, FactsPrefix) {
			all = append(all, l.Text)
		}
	}
	return all
}

// facts returns the facts that the container wrote first; the check fails if it wrote none.
func (s *Observation) facts(c *Check, container string) Facts {
	for _, l := range s.Lines[container] {
		if text, ok := strings.CutPrefix(l.Text, FactsPrefix); ok {
			var f Facts
			if err := json.Unmarshal([]byte(text), &f); err != nil {
				c.Fail("facts of %s: %v", container, err)
			}
			return f
		}
	}
	c.Fail("%s wrote no facts: %s", container, s.state(container))
	return Facts{}
}

// container returns the last status of a container of any kind.
func (s *Observation) container(name string) v1.ContainerStatus {
	for _, c := range slices.Concat(s.Ended.InitContainerStatuses, s.Ended.ContainerStatuses) {
		if c.Name == name {
			return c
		}
	}
	return v1.ContainerStatus{}
}

// exit returns how a container ended, the zero value if it did not.
func (s *Observation) exit(name string) v1.ContainerStateTerminated {
	if t := s.container(name).State.Terminated; t != nil {
		return *t
	}
	return v1.ContainerStateTerminated{}
}

// state says why a container wrote nothing.
func (s *Observation) state(name string) string {
	switch st := s.container(name).State; {
	case st.Terminated != nil:
		return fmt.Sprintf("it exited %d, %s %s", st.Terminated.ExitCode, st.Terminated.Reason, st.Terminated.Message)
	case st.Waiting != nil:
		return st.Waiting.Reason + ": " + st.Waiting.Message
	}
	return string(s.Ended.Phase) + " " + s.Ended.Reason + " " + s.Ended.Message
}

// Check collects what is not as it has to be.
type Check struct {
	wrong       []string
	unsupported string
}

// Fail adds a deviation.
func (c *Check) Fail(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// That fails unless ok.
func (c *Check) That(ok bool, format string, args ...any) {
	if !ok {
		c.Fail(format, args...)
	}
}

// Equal fails unless got and want are equal.
func (c *Check) Equal(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		c.Fail("%s is %v, want %v", what, got, want)
	}
}

// Unsupported says that the runtime does not offer the behaviour.
func (c *Check) Unsupported(why string) { c.unsupported = why }

// Verdict is what becomes of a behaviour.
type Verdict string

// The verdicts.
const (
	OK          Verdict = "ok"
	Deviates    Verdict = "deviates"
	Unsupported Verdict = "unsupported"
)

// Result is the verdict of a behaviour.
type Result struct {
	Name    string  `json:"name"`             // of the behaviour
	About   string  `json:"about"`            // the behaviour in a line
	Runtime string  `json:"runtime"`          // its name and version
	Verdict Verdict `json:"verdict"`          // ok, deviates, unsupported
	Detail  string  `json:"detail,omitempty"` // what deviates, or why the behaviour is not supported
	Known   *Known  `json:"known,omitempty"`  // the deviation is one that the runtime is known for
	Seconds float64 `json:"seconds"`          // from the pod's manifest until it was gone
}

// Unexpected reports whether the behaviour deviates in a way that is not known.
func (r Result) Unexpected() bool { return r.Verdict == Deviates && r.Known == nil }

// Judged returns the result of a behaviour on a runtime.
func (b Behaviour) Judged(s *Observation, runtime, version string) Result {
	r := Result{Name: b.Name, About: b.About, Runtime: runtime + " " + strings.TrimPrefix(version, "v"), Verdict: OK}
	c := &Check{}
	switch {
	case s.Refused != "":
		c.Unsupported(s.Refused)
	case s.Late:
		c.Fail("the pod did not come so far in time: %s", strings.TrimSuffix(describe(s.Status)+"; "+s.Problem, "; "))
	default:
		b.Judge(s, c)
	}
	switch {
	case c.unsupported != "":
		r.Verdict, r.Detail = Unsupported, c.unsupported
	case len(c.wrong) > 0:
		r.Verdict, r.Detail = Deviates, strings.Join(c.wrong, "; ")
		if !s.Late { // nothing is known of a pod that did not come so far
			r.Known = known(b.Name, runtime, version)
		}
	}
	return r
}

// describe is a status in a line.
func describe(s v1.PodStatus) string {
	parts := []string{string(s.Phase)}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil:
			parts = append(parts, fmt.Sprintf("%s waits: %s %s", c.Name, c.State.Waiting.Reason, c.State.Waiting.Message))
		case c.State.Running != nil:
			parts = append(parts, c.Name+" runs")
		case c.State.Terminated != nil:
			parts = append(parts, fmt.Sprintf("%s exited %d", c.Name, c.State.Terminated.ExitCode))
		}
	}
	return strings.Join(parts, ", ")
}

// errNoContainers is the error of a spec without containers.
var errNoContainers = errors.New("a spec has containers")

// ParseLog returns the lines of a log file: TIME STREAM TAG TEXT, where the tag P says that
// the line goes on. A line of another form is one of no stream.
func ParseLog(text string, attempt int) []Line {
	var all []Line
	open := map[string]int{} // by stream
	for raw := range strings.Lines(text) {
		raw = strings.TrimSuffix(raw, "\n")
		parts := strings.SplitN(raw, " ", 4)
		if len(parts) < 4 {
			all = append(all, Line{Text: raw, Attempt: attempt, Raw: []string{raw}})
			continue
		}
		stream, tag := parts[1], parts[2]
		at, goesOn := open[stream]
		if !goesOn {
			stamp, _ := time.Parse(time.RFC3339Nano, parts[0])
			at = len(all)
			all = append(all, Line{Time: stamp, Stream: stream, Attempt: attempt})
		}
		all[at].Text += parts[3]
		all[at].Raw = append(all[at].Raw, raw)
		if delete(open, stream); tag == "P" {
			open[stream] = at
		}
	}
	return all
}
