package pleg

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/pod"
)

// printCheck writes a report in the format of the options.
func printCheck(w io.Writer, r plegstat.CheckReport, o checkOptions) error {
	if !o.format.IsTable() {
		return o.format.NewStream(w).Print("", r)
	}
	text := checkBrief(r) + "\n"
	if !o.brief {
		text = checkText(r, o.NoTrunc)
	}
	_, err := io.WriteString(w, text)
	return err
}

// checkBrief is the report in one line, the most important first: some tools
// truncate it.
func checkBrief(r plegstat.CheckReport) string {
	if r.Status != plegstat.Healthy {
		return r.Status + ": " + output.OneLine(r.Reason)
	}
	return fmt.Sprintf("%s: %s · %s", r.Status, relistText(r), sizeOf(r))
}

// checkText is the report: the result, the calls in flight, then the numbers.
func checkText(r plegstat.CheckReport, full bool) string {
	head := r.Status
	switch {
	case r.Unfinished != "" && len(r.Waits) > 0: // each has a line below
		head += ": no answer for " + output.Age(seconds(r.Waits[0].Seconds))
	case r.Reason != "":
		head += ": " + output.OneLine(r.Reason)
	}
	lines := []string{head}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf("  "+format, args...)) }
	for _, w := range r.Waits {
		add("waits for %s, in flight for %s (since %s)", output.OneLine(waitText(w, full)), output.Age(seconds(w.Seconds)), output.Clock(w.Since))
	}
	for _, e := range r.Errors {
		add("status of %s: %s", output.OneLine(pod.DisplayName(e.Namespace, e.Name)), output.OneLine(e.Message))
	}
	if r.Runtime == "" {
		if r.Hint != "" {
			add("hint: %s", output.OneLine(r.Hint))
		}
		return strings.Join(lines, "\n") + "\n"
	}
	if r.Unfinished != "" {
		add("answered: %s", r.Unfinished)
	}
	add("%s", relistText(r))
	add("%s · %s at %s", sizeOf(r), output.OneLine(r.Runtime), r.Endpoint)
	if len(r.Slowest) > 0 {
		var slow []string
		for _, s := range r.Slowest {
			slow = append(slow, output.OneLine(pod.DisplayName(s.Namespace, s.Name))+" "+output.ShortTime(seconds(s.Seconds)))
		}
		add("slowest: %s", strings.Join(slow, ", "))
	}
	add("hints: %s", hintText(r))
	if r.Hint != "" {
		add("hint: %s", output.OneLine(r.Hint))
	}
	return strings.Join(lines, "\n") + "\n"
}

func relistText(r plegstat.CheckReport) string {
	if r.Samples == 0 {
		return "no relist succeeded"
	}
	return fmt.Sprintf("relist max %s over %s", output.ShortTime(seconds(*r.RelistMax)), output.Plural(r.Samples, "sample"))
}

func sizeOf(r plegstat.CheckReport) string {
	return output.Plural(r.Pods, "pod") + ", " + output.Plural(r.Containers, "container")
}

func hintText(r plegstat.CheckReport) string {
	switch plegstat.HintState(r.Hints) {
	case plegstat.HintsBroadcast:
		return "yes, to every subscriber"
	case plegstat.HintsNone:
		return "no: " + output.OneLine(r.NoHints)
	case plegstat.HintsUnknown:
	}
	return "unknown: the runtime has not answered"
}

// reasonText returns what makes the runtime unhealthy, the first that applies; "" if nothing does.
// failure is the error of the last list.
func reasonText(r plegstat.CheckReport, failure error) string {
	threshold := seconds(r.ThresholdSeconds)
	switch {
	case failure != nil:
		return failure.Error()
	case r.Unfinished != "" && len(r.Waits) > 0:
		return fmt.Sprintf("no answer for %s: %s", output.Age(seconds(r.Waits[0].Seconds)), waitText(r.Waits[0], false))
	case r.Unfinished != "":
		return fmt.Sprintf("not finished after %s: %s", output.Age(seconds(r.Seconds)), r.Unfinished)
	case len(r.Errors) > 0:
		e := r.Errors[0]
		return fmt.Sprintf("status of %s: %s", pod.DisplayName(e.Namespace, e.Name), e.Message)
	case r.RelistMax != nil && *r.RelistMax >= r.ThresholdSeconds:
		return fmt.Sprintf("a relist took %s (threshold %s)", output.ShortTime(seconds(*r.RelistMax)), threshold)
	case len(r.Slowest) > 0 && r.Slowest[0].Seconds >= r.ThresholdSeconds:
		s := r.Slowest[0]
		return fmt.Sprintf("the status of %s took %s (threshold %s)", pod.DisplayName(s.Namespace, s.Name), output.ShortTime(seconds(s.Seconds)), threshold)
	}
	return ""
}

// waitText is "PodSandboxStatus of default/db (sandbox 3f9c1b2a44d0e)". full
// shows complete ids.
func waitText(w plegstat.CheckWait, full bool) string {
	if w.UID == "" {
		return w.Call
	}
	name := w.UID
	if w.Name != "" {
		name = pod.DisplayName(w.Namespace, w.Name)
	}
	kind := "sandbox"
	if w.Container != "" {
		name += "/" + w.Container
		kind = "container"
	}
	text := w.Call + " of " + name
	if w.ID != "" {
		text += fmt.Sprintf(" (%s %s)", kind, shownID(w.ID, full))
	}
	return text
}

// shownID is an id, truncated as crictl does unless full is set.
func shownID(id string, full bool) string {
	if full {
		return id
	}
	return pod.ShortID(id)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
