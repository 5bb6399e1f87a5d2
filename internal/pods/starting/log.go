package starting

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/pods/why"
)

// LogError is an error that a kubelet logged about a pod.
type LogError struct {
	Time time.Time // zero if it is not known
	Text string
}

const (
	// logTimeout bounds reading a log, maxLogText what is kept of an error, in bytes.
	logTimeout = 2 * time.Second
	maxLogText = 1 << 10
)

// addLogErrors adds the last errors that the kubelet logged about its pods.
func (c *Collector) addLogErrors(ctx context.Context, found []*Facts) {
	ofKubelet := func(f *Facts) bool { return f != nil && f.By == inventory.OwnedByKubelet }
	if c.Log == nil || c.Kubelet == nil || c.Kubelet.Process == nil || !slices.ContainsFunc(found, ofKubelet) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	text, err := c.Log(ctx, c.Kubelet.Process.PID)
	if err != nil {
		return
	}
	lines := strings.Split(string(text), "\n")
	for _, f := range found {
		if ofKubelet(f) {
			f.LogError, f.Killed = lastError(lines, f.Metadata.UID, c.Now()), killedContainers(lines, f.Metadata.UID)
		}
	}
}

// klogError is the head of an error that a kubelet logs, behind what journald or a file has
// before it: E1127 07:47:06.211430   21361 pod_workers.go:1324]
var klogError = regexp.MustCompile(`\bE(\d{4} \d\d:\d\d:\d\d)\.\d+ +\d+ [\w.-]+:\d+\] `)

// lastError returns the last error about the pod of a UID that says what it is about, else the
// last one; nil if there is none.
func lastError(lines []string, uid string, now time.Time) *LogError {
	var last *LogError
	for _, line := range slices.Backward(lines) {
		if uid == "" || !strings.Contains(line, uid) {
			continue
		}
		at := klogError.FindStringSubmatchIndex(line)
		if at == nil {
			continue
		}
		e := &LogError{Time: klogTime(line[at[2]:at[3]], now), Text: errorOf(line[at[1]:])}
		known := len(why.Explain(e.Text, StepSandbox)) > 0 || len(why.Explain(e.Text, StepPull)) > 0
		if !known || strings.Contains(e.Text, unspecific) {
			if last == nil {
				last = e
			}
			continue
		}
		return e
	}
	return last
}

// killing is what a kubelet logs of a container that it stops.
var killing = regexp.MustCompile(`"Killing container with a grace period" .*containerID="[^"]*://([^"]+)"`)

// killedContainers returns the containers of the pod of a UID that the kubelet has stopped.
func killedContainers(lines []string, uid string) map[string]bool {
	killed := map[string]bool{}
	for _, line := range lines {
		if uid == "" || !strings.Contains(line, uid) {
			continue
		}
		if m := killing.FindStringSubmatch(line); m != nil {
			killed[m[1]] = true
		}
	}
	return killed
}

// unspecific is in the error of a kubelet that has waited for volumes: others say why.
const unspecific = "unmounted volumes="

// klogTime reads a time without a year.
func klogTime(text string, now time.Time) time.Time {
	at, err := time.ParseInLocation("2006 0102 15:04:05", strconv.Itoa(now.Local().Year())+" "+text, time.Local)
	switch {
	case err != nil:
		return time.Time{}
	case at.After(now.Add(24 * time.Hour)):
		return at.AddDate(-1, 0, 0)
	}
	return at
}

// errorOf returns the error of a message: the value of err, or what is after "Error: ".
func errorOf(message string) string {
	text := message
	if _, rest, found := strings.Cut(message, ` err="`); found {
		if quoted, err := strconv.QuotedPrefix(`"` + rest); err == nil {
			text, _ = strconv.Unquote(quoted)
		}
	} else if _, rest, found := strings.Cut(message, "Error: "); found {
		text = rest
	}
	return text[:min(len(text), maxLogText)]
}
