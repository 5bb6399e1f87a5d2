package why

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// logError is an error that a kubelet logged about a pod.
type logError struct {
	Time time.Time // zero if it is not known
	Text string
}

// maxLogText is what is kept of an error, in bytes.
const maxLogText = 1 << 10

// klogError is the head of an error that a kubelet logs, behind what journald or a file has
// before it: E1127 07:47:06.211430   21361 pod_workers.go:1324]
var klogError = lazyregexp.New(`\bE(\d{4} \d\d:\d\d:\d\d)\.\d+ +\d+ [\w.-]+:\d+\] `)

// lastError returns the last error in lines about a pod that says what it is about, else the last
// one; nil if there is none.
func lastError(lines []string, now time.Time) *logError {
	var last *logError
	for _, line := range slices.Backward(lines) {
		at := klogError().FindStringSubmatchIndex(line)
		if at == nil {
			continue
		}
		text, _ := errorIn(line[at[1]:])
		e := &logError{Time: klogTime(line[at[2]:at[3]], now), Text: text[:min(len(text), maxLogText)]}
		known := len(Explain(e.Text, StepSandbox)) > 0 || len(Explain(e.Text, StepPull)) > 0
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
var killing = lazyregexp.New(`"Killing container with a grace period" .*containerID="[^"]*://([^"]+)"`)

// killedByKubelet reports whether the kubelet has logged that it stops a container.
func killedByKubelet(lines []string, id string) bool {
	return id != "" && slices.ContainsFunc(lines, func(line string) bool {
		m := killing().FindStringSubmatch(line)
		return m != nil && m[1] == id
	})
}

// unspecific is in the error of a kubelet that has waited for volumes: others say
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
