package why

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/pods/usage"
)

// maxKillToExit is the longest time between an OOM kill and the end of the container that it caused,
// as the runtime reports it.
const maxKillToExit = 10 * time.Second

// endedByKill reports whether the container ended when the kernel killed a process of it.
func (e *exit) endedByKill() bool {
	return e.kill != nil && e.signal() == unix.SIGKILL && e.followsKill()
}

// followsKill reports whether the container may have ended because of the OOM kill, by the time
// of it. Where the clock was set since, the times do not tell.
func (e *exit) followsKill() bool {
	return e.kill.at.IsZero() || e.finished.IsZero() || e.clockWasSet() || e.finished.Sub(e.kill.at) <= maxKillToExit+e.log.Slack
}

// clockWasSet reports whether the kernel's log and the runtime have their times of different clocks:
// the record is of this container, and outside of its life, or its end is in the future.
func (e *exit) clockWasSet() bool {
	slack := maxKillToExit + e.log.Slack
	return !e.started.IsZero() && e.kill.at.Before(e.started.Add(-slack)) || e.kill.at.After(e.finished.Add(slack)) ||
		!e.read.IsZero() && e.finished.After(e.read.Add(slack))
}

// hostHadNoMemory reports whether the kernel killed the process for lack of memory of the host.
func (e *exit) hostHadNoMemory() bool {
	return e.kill.scope == scopeHost || e.kill.scope == scopeMemoryNodes
}

func killedAtLimit(e *exit) (text string, evidence []string) {
	if !e.endedByKill() || e.hostHadNoMemory() {
		return "", nil
	}
	return e.killed()
}

func killedOnHost(e *exit) (text string, evidence []string) {
	if !e.endedByKill() || !e.hostHadNoMemory() {
		return "", nil
	}
	return e.killed()
}

func (e *exit) killed() (text string, evidence []string) {
	return "killed by the kernel: " + e.kill.describe(e.limits), append([]string{e.kill.text()}, e.oomEvidence()...)
}

// killEvidence returns what shows that the kernel killed a process of the container, or may
// have.
func (e *exit) killEvidence() []string {
	reported := "the runtime reports " + reasonOOMKilled
	switch {
	case e.kill != nil:
		text := e.kill.text() + ": " + e.kill.describe(e.limits)
		if !e.kill.at.IsZero() && !e.finished.IsZero() && !e.clockWasSet() {
			if before := e.finished.Sub(e.kill.at); before > maxKillToExit+e.log.Slack {
				text += ", " + age(before) + " before the end"
			}
		}
		return []string{text}
	case e.reason != reasonOOMKilled:
		return nil
	case e.logCoversRun():
		return []string{reported + ", and the kernel's log names no process of this container: it may have killed one of another container of the pod"}
	}
	return []string{reported + ": the kernel killed a process of the container, or of another one of its pod"}
}

// logCoversRun reports whether the kernel's log reaches back to the start of the container.
func (e *exit) logCoversRun() bool {
	return !e.log.Since.IsZero() && !e.started.IsZero() && e.log.Since.Add(e.log.Slack).Before(e.started)
}

// reportedOOM examines a SIGKILL of which the runtime reports an OOM kill, and nothing contradicts it.
// Runtimes remember an OOM kill until the container ends, and count those of the whole pod.
func reportedOOM(e *exit) (text string, evidence []string) {
	if e.reason != reasonOOMKilled || e.signal() != unix.SIGKILL || e.kill != nil || e.logCoversRun() {
		return "", nil
	}
	text = "probably killed by the kernel: out of memory"
	if e.limits.own != nil {
		text += ", at its limit of " + usage.Bytes(*e.limits.own) + " or one above it"
	}
	return text, append([]string{"the runtime reports " + reasonOOMKilled}, e.oomEvidence()...)
}

// oomCounted reports whether the pod's cgroup counts an OOM kill.
func (e *exit) oomCounted() bool {
	return e.pod != nil && e.pod.OOMKills != nil && *e.pod.OOMKills > 0
}

func countedOOM(e *exit) (text string, evidence []string) {
	if e.signal() != unix.SIGKILL || !e.oomCounted() || e.kill != nil || e.otherKills || e.logCoversRun() {
		return "", nil
	}
	return "SIGKILL: probably by the kernel, out of memory", e.oomEvidence()
}

// oomEvidence returns what the pod's cgroup has counted.
func (e *exit) oomEvidence() []string {
	if e.pod == nil {
		return nil
	}
	var found []string
	if n := e.pod.OOMKills; n != nil && *n > 0 {
		found = append(found, fmt.Sprintf("the pod's cgroup counts oom_kill %d", *n))
	}
	if n := e.pod.LimitHits; n != nil && *n > 0 {
		found = append(found, fmt.Sprintf("the pod's cgroup met its memory limit %d times", *n))
	}
	if e.pod.MemoryPeak != nil && e.limits.own != nil && *e.pod.MemoryPeak >= *e.limits.own/10*9 {
		found = append(found, fmt.Sprintf("the pod's memory peaked at %s", usage.Bytes(*e.pod.MemoryPeak)))
	}
	return found
}
