package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/usage"
	"github.com/podctl/podctl/internal/pods/view"
)

// The kinds of causes.
const (
	CauseCompleted = "completed"   // exit code 0
	CauseExit      = "exit"        // the program returned another one
	CauseStart     = "start-error" // it could not be started
	CauseOOM       = "oom"         // the kernel killed it at a memory limit, or for a reason that is not known
	CauseHostOOM   = "host-oom"    // the kernel killed it because the host had no memory
	CauseStop      = "stop"        // it was asked to stop
	CauseLiveness  = "probe"       // a liveness or startup probe failed
	CauseCrash     = "crash"       // a signal that a process brings on itself
	CauseSignal    = "signal"      // a signal of an unknown sender
	CauseLost      = "lost"        // the runtime does not know
)

// exit is what is known about the end of a process.
type exit struct {
	code     int32
	reason   string
	started  time.Time
	finished time.Time
	// limits are the container's memory limit and that of its pod.
	limits memoryLimits
	// read is when this was read, by the clock of that moment.
	read time.Time
	// kill is the kernel's last record of an OOM kill in the container, nil if there is
	// none; log is what that is from.
	kill *kernelKill
	log  view.KernelLog
	// otherKills: the runtime or the kernel's log reports an OOM kill in another container of the pod.
	otherKills bool
	// pod is the pod's cgroup as it is now; nil if that is not known.
	pod *view.Cgroup
	// stop is when the pod was asked to stop, and its grace; zero if it was not.
	stop  time.Time
	grace time.Duration
	// probe is the liveness or startup probe that fails, "" if none does.
	probe string
	// restarts: an end with 0 is followed by another start.
	restarts bool
	// lastLine is the last line of its log, "" if it is not known.
	lastLine string
	// killing is the owner's own reason for ending the container, "" if none is
	// known.
	killing string
}

const (
	signalBase = 128 // what runtimes add to the number of a signal
	lostCode   = 255
	// What a shell returns for a command that it may not execute, or does not find.
	ShellNoExec, ShellNotFound = 126, 127
)

// causeOf returns why a process ended. An OOM kill of a process of the container is evidence; it is
// the cause only if the container also ended by it.
func causeOf(e exit) view.Cause {
	c := e.cause()
	if c.Kind != CauseOOM && c.Kind != CauseHostOOM {
		c.Evidence = append(c.Evidence, e.killEvidence()...)
		c.LostProcess = e.code != 0 && e.kill != nil && e.followsKill()
	}
	return c
}

func (e exit) cause() view.Cause {
	for _, rule := range []func(exit) (view.Cause, bool){causeByKernel, causeByRuntime, causeByOwner, causeByReport, causeByProbe, causeBySignal} {
		if c, found := rule(e); found {
			return c
		}
	}
	if e.code == 0 {
		text := "it completed"
		if e.restarts {
			text += ", and restartPolicy Always starts it again; OnFailure and Never do not"
		}
		return view.Cause{Kind: CauseCompleted, Text: text, Confidence: string(Observed)}
	}
	if m, ok := e.neverRan(); ok {
		return view.Cause{Kind: CauseStart, Text: "it never ran: " + m.Meaning, Confidence: string(Likely), Evidence: []string{e.lastLine}}
	}
	text := fmt.Sprintf("its program returned %d", e.code)
	switch e.code {
	case ShellNoExec:
		text += ", which a shell does for a command that it may not execute"
	case ShellNotFound:
		text += ", which a shell does for a command that it does not find"
	}
	return view.Cause{Kind: CauseExit, Text: text, Confidence: string(Observed)}
}

// execTime is how long the runtime's first process lives that cannot execute the program.
const execTime = 2 * time.Second

// neverRan returns what the last line says of a program that the kernel could not execute: the runtime's
// own process writes it in place of the program, and returns an error.
func (e exit) neverRan() (Meaning, bool) {
	if !strings.HasPrefix(e.lastLine, "exec /") || e.finished.Sub(e.started) > execTime {
		return Meaning{}, false
	}
	said := Explain(e.lastLine, StepStart)
	if len(said) != 1 || said[0].Layer != LayerApplication {
		return Meaning{}, false
	}
	return said[0], true
}

// maxKillToExit is the longest time between an OOM kill and the end of the container that it caused,
// as the runtime reports it.
const maxKillToExit = 10 * time.Second

// endedByKill reports whether the container ended when the kernel killed a process of it.
func (e exit) endedByKill() bool {
	return e.kill != nil && e.signal() == unix.SIGKILL && e.followsKill()
}

// followsKill reports whether the container may have ended because of the OOM kill, by the time
// of it. Where the clock was set since, the times do not tell.
func (e exit) followsKill() bool {
	return e.kill.at.IsZero() || e.finished.IsZero() || e.clockWasSet() || e.finished.Sub(e.kill.at) <= maxKillToExit+e.log.Slack
}

// clockWasSet reports whether the kernel's log and the runtime have their times of different clocks:
// the record is of this container, and outside of its life, or its end is in the future.
func (e exit) clockWasSet() bool {
	slack := maxKillToExit + e.log.Slack
	return !e.started.IsZero() && e.kill.at.Before(e.started.Add(-slack)) || e.kill.at.After(e.finished.Add(slack)) ||
		!e.read.IsZero() && e.finished.After(e.read.Add(slack))
}

// causeByKernel returns the cause if the kernel killed a process and the container ended by
// SIGKILL then.
func causeByKernel(e exit) (view.Cause, bool) {
	if !e.endedByKill() {
		return view.Cause{}, false
	}
	kind := CauseOOM
	if e.kill.scope == scopeHost || e.kill.scope == scopeMemoryNodes {
		kind = CauseHostOOM
	}
	return view.Cause{
		Kind: kind, Text: "killed by the kernel: " + e.kill.describe(e.limits), Confidence: string(Observed),
		Evidence: append([]string{e.kill.text()}, e.oomEvidence()...),
	}, true
}

// killEvidence returns what shows that the kernel killed a process of the container, or may
// have.
func (e exit) killEvidence() []string {
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
func (e exit) logCoversRun() bool {
	return !e.log.Since.IsZero() && !e.started.IsZero() && e.log.Since.Add(e.log.Slack).Before(e.started)
}

const (
	reasonOOMKilled  = "OOMKilled"
	reasonStartError = "StartError"
	reasonCannotRun  = "ContainerCannotRun"
	reasonUnknown    = "Unknown"
)

// causeByRuntime returns the cause that the runtime reports.
func causeByRuntime(e exit) (view.Cause, bool) {
	switch {
	case e.reason == reasonStartError, e.reason == reasonCannotRun:
		return view.Cause{Kind: CauseStart, Text: "the runtime could not start it", Confidence: string(Observed)}, true
	case e.reason == view.ReasonLost: // what the kubelet and podctl put for one that the runtime has no more: its code is no signal
		return view.Cause{Kind: CauseLost, Text: "the runtime no longer has it: how it ended is not known", Confidence: string(Unknown)}, true
	case e.reason == reasonUnknown && e.code == lostCode:
		return view.Cause{Kind: CauseLost, Text: "the runtime or its shim exited and does not know how it ended", Confidence: string(Unknown)}, true
	}
	return view.Cause{}, false
}

// causeByReport returns the cause of a SIGKILL if the runtime reports an OOM kill, and
// nothing contradicts it. Runtimes remember an OOM kill until the container ends, and count
// those of the whole pod.
func causeByReport(e exit) (view.Cause, bool) {
	if e.reason != reasonOOMKilled || e.signal() != unix.SIGKILL || e.kill != nil || e.logCoversRun() {
		return view.Cause{}, false
	}
	text := "probably killed by the kernel: out of memory"
	if e.limits.own != nil {
		text += ", at its limit of " + usage.Bytes(*e.limits.own) + " or one above it"
	}
	return view.Cause{
		Kind: CauseOOM, Text: text, Confidence: string(Likely),
		Evidence: append([]string{"the runtime reports " + reasonOOMKilled}, e.oomEvidence()...),
	}, true
}

// oomEvidence returns what the pod's cgroup has counted.
func (e exit) oomEvidence() []string {
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

// signal returns the signal that ended the process, 0 if none did.
func (e exit) signal() unix.Signal {
	if e.code <= signalBase || e.code > signalBase+64 {
		return 0
	}
	return unix.Signal(e.code - signalBase)
}

// causeByOwner returns the cause if the owner of the pod stopped it.
func causeByOwner(e exit) (view.Cause, bool) {
	signal := e.signal()
	if signal != unix.SIGKILL && signal != unix.SIGTERM {
		return view.Cause{}, false
	}
	stopped := !e.stop.IsZero() && !e.finished.Before(e.stop)
	switch {
	case e.killing != "":
		return view.Cause{Kind: CauseStop, Text: name(signal) + ": " + e.killing, Confidence: string(Observed)}, true
	case stopped && signal == unix.SIGTERM:
		return view.Cause{Kind: CauseStop, Text: "SIGTERM: the pod was asked to stop", Confidence: string(Likely)}, true
	case stopped && e.finished.Sub(e.stop) >= e.grace:
		return view.Cause{
			Kind: CauseStop, Text: fmt.Sprintf("SIGKILL: the pod was asked to stop, and its grace period of %s was over", age(e.grace)),
			Confidence: string(Likely),
		}, true
	case stopped:
		return view.Cause{Kind: CauseStop, Text: "SIGKILL: the pod was asked to stop", Confidence: string(Likely)}, true
	}
	return view.Cause{}, false
}

// causeByProbe returns the cause if a probe fails for which the owner may have stopped it.
func causeByProbe(e exit) (view.Cause, bool) {
	signal := e.signal()
	if e.probe == "" || signal != unix.SIGKILL && signal != unix.SIGTERM {
		return view.Cause{}, false
	}
	return view.Cause{
		Kind: CauseLiveness, Text: name(signal) + ": probably its owner, because of the " + e.probe + " probe", Confidence: string(Likely),
		Evidence: []string{"the " + e.probe + " probe fails"},
	}, true
}

// causeBySignal returns the cause of an exit by a signal, by who may have sent it.
func causeBySignal(e exit) (view.Cause, bool) {
	switch signal := e.signal(); signal {
	case 0:
		return view.Cause{}, false
	case unix.SIGKILL:
		text := "SIGKILL from an unknown sender: the runtime for a client that stopped it, or another process of the host"
		switch counted := e.pod != nil && e.pod.OOMKills != nil && *e.pod.OOMKills > 0; {
		case counted && e.kill == nil && !e.otherKills && !e.logCoversRun():
			return view.Cause{Kind: CauseOOM, Text: "SIGKILL: probably by the kernel, out of memory", Confidence: string(Likely), Evidence: e.oomEvidence()}, true
		case !counted && e.kill == nil && e.reason != reasonOOMKilled:
			text += "; nothing shows an OOM kill"
		}
		return view.Cause{Kind: CauseSignal, Text: text, Confidence: string(Unknown)}, true
	case unix.SIGTERM:
		return view.Cause{
			Kind: CauseSignal, Text: "SIGTERM from an unknown sender: the runtime for a client that stopped it, or another process", Confidence: string(Unknown),
		}, true
	case unix.SIGSEGV, unix.SIGBUS, unix.SIGILL, unix.SIGFPE, unix.SIGABRT, unix.SIGSYS, unix.SIGTRAP:
		return view.Cause{Kind: CauseCrash, Text: name(signal) + ": its program crashed", Confidence: string(Likely)}, true
	default:
		return view.Cause{Kind: CauseSignal, Text: fmt.Sprintf("%s from an unknown sender, or its program returned %d", name(signal), e.code), Confidence: string(Unknown)}, true
	}
}

func name(signal unix.Signal) string {
	if n := unix.SignalName(signal); n != "" {
		return n
	}
	return fmt.Sprintf("signal %d", signal)
}

// addCauses sets why the attempts of containers ended.
func addCauses(p *view.Pod, now time.Time) {
	var killed []string
	isOOM := map[string]bool{} // by the runtime
	for i := range p.Containers {
		for _, e := range p.Containers[i].Ends() {
			if e.MayBeOOM() && e.ID != "" {
				killed, isOOM[e.ID] = append(killed, e.ID), e.Reason == reasonOOMKilled
			}
		}
	}
	kills := kernelKills(p.KernelLog.Records, killed, string(p.UID))
	for i := range p.Containers {
		c := &p.Containers[i]
		for _, e := range c.Ends() {
			x := exit{
				code: e.ExitCode, reason: e.Reason, started: e.StartedAt, finished: e.FinishedAt, limits: limitsOf(p, e.ID), read: now, pod: p.Cgroup, probe: c.FailingProbe(),
				stop: p.Deleted, grace: p.Grace, log: p.KernelLog,
				otherKills: slices.ContainsFunc(killed, func(id string) bool { return id != e.ID && (isOOM[id] || kills[id].count > 0) }),
			}
			if kill, ok := kills[e.ID]; ok {
				x.kill = &kill
			}
			for _, ev := range p.Events {
				if ev.Container == c.Name && ev.Reason == event.Killing && !ev.Time.After(e.FinishedAt) && ev.Time.After(e.StartedAt) {
					x.killing = ev.Message
				}
			}
			if x.restarts = p.Spec != nil && p.Spec.RestartPolicy == "Always" && c.Kind != view.KindInit && c.Kind != view.KindEphemeral; e == c.Failure() {
				x.lastLine = c.LastLine()
			}
			e.Cause = causeOf(x)
		}
	}
}

// limitsOf returns the limits of memory of a container, by its id, and of its pod.
func limitsOf(p *view.Pod, id string) memoryLimits {
	l := memoryLimits{own: p.MemoryLimits[id]}
	if p.Cgroup != nil {
		l.pod = p.Cgroup.MemoryLimit
	}
	if o := p.Object; o != nil {
		l.containers = len(o.Spec.Containers)
		if r := o.Spec.Resources; r != nil {
			_, l.podLevel = r.Limits[v1.ResourceMemory]
		}
		for i := range o.Spec.InitContainers {
			if pod.IsSidecar(&o.Spec.InitContainers[i]) {
				l.containers++
			}
		}
	}
	return l
}
