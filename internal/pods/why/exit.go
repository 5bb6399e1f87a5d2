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
	"github.com/podctl/podctl/internal/pods/view"
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
	probe view.ProbeType
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

// exitRule is a row of exitRules; match returns "" as the text of an end of another kind.
type exitRule struct {
	rule
	cause view.CauseKind
	match func(*exit) (text string, evidence []string)
}

// exitRules is the table of processes that ended. The first row that matches decides.
var exitRules = []exitRule{
	{rule{"137, and the kernel's log has a record of a process of the container from then, at the limit of a cgroup (`oom_memcg`): of the container, one in it, its pod, or above", LayerKernel, Observed, "raise the limit that the record names", nil}, view.CauseOOM, killedAtLimit},
	{rule{"137 with such a record, and the host, or the memory nodes that its cpuset or NUMA policy allows, had no memory", LayerKernel, Observed, "`free -m`", nil}, view.CauseHostOOM, killedOnHost},
	{rule{"`StartError`, `ContainerCannotRun`: the runtime could not start it", LayerRuntime, Observed, "`podctl inspect POD/CONTAINER`", nil}, view.CauseStart, neverStarted},
	{rule{"255 with `Unknown`, or `ContainerStatusUnknown`: the runtime or its shim exited, or no longer has it", LayerNone, Unknown, "the owner's events", nil}, view.CauseLost, lostByRuntime},
	{rule{"137, 143, and an event of its owner says why it ended the container", LayerWorker, Observed, "what the event says", nil}, view.CauseStop, endedByOwner},
	{rule{"137, 143 after the pod was asked to stop; SIGKILL once the grace period is over", LayerWorker, Likely, "a longer grace period", nil}, view.CauseStop, endedByStop},
	{rule{"137 with `OOMKilled`, and the kernel's log does not go back to its start. Runtimes report it for all containers of a pod whose limit was met", LayerKernel, Likely, "`podctl top containers POD`", nil}, view.CauseOOM, reportedOOM},
	{rule{"137, 143 while a liveness or startup probe fails", LayerProbe, Likely, "`podctl logs POD/CONTAINER`", nil}, view.CauseLiveness, endedForProbe},
	{rule{"137, and the pod's cgroup counts an OOM kill that no other container explains, and the kernel's log does not go back", LayerKernel, Likely, "`podctl top containers POD`", nil}, view.CauseOOM, countedOOM},
	{rule{"139, 134, …: a signal that a process brings on itself", LayerApplication, Likely, "`podctl logs -p POD/CONTAINER`", nil}, view.CauseCrash, crashed},
	{rule{"any other signal: its sender is not known", LayerNone, Unknown, "`podctl describe POD`", nil}, view.CauseSignal, signaled},
	{rule{"0: it completed", LayerNone, Observed, "restartPolicy", nil}, view.CauseCompleted, completed},
	{rule{"its last line is what the runtime's own process writes of a program that the kernel cannot execute, within 2 s of its start", LayerApplication, Likely, "what the row names", nil}, view.CauseStart, neverRan},
	{rule{"any other code: its program returned it; 126 and 127 are a shell's, which may not execute a command or does not find it", LayerApplication, Observed, "`podctl logs -p POD/CONTAINER`", nil}, view.CauseExit, returned},
}

// causeOf returns why a process ended. An OOM kill of a process of the container is evidence; it is
// the cause only if the container also ended by it.
func causeOf(e exit) view.Cause {
	var c view.Cause
	for _, r := range exitRules {
		if c.Text, c.Evidence = r.match(&e); c.Text != "" {
			c.Kind, c.Confidence = r.cause, string(r.sure)
			break
		}
	}
	if c.Kind != view.CauseOOM && c.Kind != view.CauseHostOOM {
		c.Evidence = append(c.Evidence, e.killEvidence()...)
		c.LostProcess = e.code != 0 && e.kill != nil && e.followsKill()
	}
	return c
}

func completed(e *exit) (text string, evidence []string) {
	switch {
	case e.code != 0:
		return "", nil
	case e.restarts:
		return "it completed, and restartPolicy Always starts it again; OnFailure and Never do not", nil
	}
	return "it completed", nil
}

func returned(e *exit) (text string, evidence []string) {
	text = fmt.Sprintf("its program returned %d", e.code)
	switch e.code {
	case ShellNoExec:
		text += ", which a shell does for a command that it may not execute"
	case ShellNotFound:
		text += ", which a shell does for a command that it does not find"
	}
	return text, nil
}

// execTime is how long the runtime's first process lives that cannot execute the program.
const execTime = 2 * time.Second

// neverRan examines a program that the kernel could not execute: the runtime's own process writes its last
// line in place of the program, and returns an error.
func neverRan(e *exit) (text string, evidence []string) {
	if !strings.HasPrefix(e.lastLine, "exec /") || e.finished.Sub(e.started) > execTime {
		return "", nil
	}
	said := Explain(e.lastLine, StepStart)
	if len(said) != 1 || said[0].Layer != LayerApplication {
		return "", nil
	}
	return "it never ran: " + said[0].Meaning, []string{e.lastLine}
}

const (
	reasonOOMKilled  = "OOMKilled"
	reasonStartError = "StartError"
	reasonCannotRun  = "ContainerCannotRun"
	reasonUnknown    = "Unknown"
)

func neverStarted(e *exit) (text string, evidence []string) {
	if e.reason != reasonStartError && e.reason != reasonCannotRun {
		return "", nil
	}
	return "the runtime could not start it", nil
}

// lostByRuntime examines what the kubelet and podctl put for a container that the runtime has no more: its
// code is no signal.
func lostByRuntime(e *exit) (text string, evidence []string) {
	switch {
	case e.reason == view.ReasonLost:
		return "the runtime no longer has it: how it ended is not known", nil
	case e.reason == reasonUnknown && e.code == lostCode:
		return "the runtime or its shim exited and does not know how it ended", nil
	}
	return "", nil
}

// signal returns the signal that ended the process, 0 if none did.
func (e *exit) signal() unix.Signal {
	if e.code <= signalBase || e.code > signalBase+64 {
		return 0
	}
	return unix.Signal(e.code - signalBase)
}

// byStop reports whether the signal is one with which an owner stops a container.
func (e *exit) byStop() bool { return e.signal() == unix.SIGKILL || e.signal() == unix.SIGTERM }

func endedByOwner(e *exit) (text string, evidence []string) {
	if !e.byStop() || e.killing == "" {
		return "", nil
	}
	return name(e.signal()) + ": " + e.killing, nil
}

func endedByStop(e *exit) (text string, evidence []string) {
	if !e.byStop() || e.stop.IsZero() || e.finished.Before(e.stop) {
		return "", nil
	}
	text = name(e.signal()) + ": the pod was asked to stop"
	if e.signal() == unix.SIGKILL && e.finished.Sub(e.stop) >= e.grace {
		text += fmt.Sprintf(", and its grace period of %s was over", age(e.grace))
	}
	return text, nil
}

func endedForProbe(e *exit) (text string, evidence []string) {
	if e.probe == "" || !e.byStop() {
		return "", nil
	}
	return name(e.signal()) + ": probably its owner, because of the " + string(e.probe) + " probe", []string{"the " + string(e.probe) + " probe fails"}
}

func crashed(e *exit) (text string, evidence []string) {
	switch signal := e.signal(); signal {
	case unix.SIGSEGV, unix.SIGBUS, unix.SIGILL, unix.SIGFPE, unix.SIGABRT, unix.SIGSYS, unix.SIGTRAP:
		return name(signal) + ": its program crashed", nil
	}
	return "", nil
}

func signaled(e *exit) (text string, evidence []string) {
	switch signal := e.signal(); signal {
	case 0:
		return "", nil
	case unix.SIGKILL:
		text = "SIGKILL from an unknown sender: the runtime for a client that stopped it, or another process of the host"
		if !e.oomCounted() && e.kill == nil && e.reason != reasonOOMKilled {
			text += "; nothing shows an OOM kill"
		}
		return text, nil
	case unix.SIGTERM:
		return "SIGTERM from an unknown sender: the runtime for a client that stopped it, or another process", nil
	default:
		return fmt.Sprintf("%s from an unknown sender, or its program returned %d", name(signal), e.code), nil
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
