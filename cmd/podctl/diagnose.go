package main

import (
	"fmt"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/event"
)

// downFacts is what is known of a pod on its way down.
type downFacts struct {
	name string // NAMESPACE/NAME
	// worker is how its podctl sees it, nil if none that lives manages it.
	worker *control.Worker
	// creator is the podctl that made it and has died, "" if none.
	creator string
	// since is when it began to end, graceLeft what is left of its grace;
	// negative once it is overrun. Zero and nil where that is not known.
	since     time.Time
	graceLeft *time.Duration
	// containers are those that the runtime says run.
	containers   []downContainer
	sandbox      string // the newest one's id
	sandboxReady bool
	// mounts are what is still mounted in its directory.
	mounts []string
	// runtimePID is the process that serves the runtime's socket, 0 if unknown.
	runtimePID int
}

// downContainer is one container that the runtime says runs.
type downContainer struct {
	name, id string
	// process is its first one, or one that is worse off; its pid is 0 where
	// the runtime does not tell it.
	process process
	// shim is the parent of the first one, 0 if it has none that is a shim, and
	// shimState the kernel's letter for it.
	shim      int
	shimState byte
	// err is why the runtime did not tell of it.
	err error
}

// layer is what a pod on its way down waits for.
type layer string

const (
	layerNone    layer = "-" // nothing is stuck
	layerWorker  layer = "worker"
	layerRuntime layer = "runtime"
	layerShim    layer = "shim"
	layerProcess layer = "process"
	layerVolume  layer = "volume"
	layerNetwork layer = "network"
)

// diagnosis is what holds a pod up, and what to type next.
type diagnosis struct {
	layer layer
	why   string
	next  []string
}

// slowCall is how long a call of the runtime may take, beyond a grace, before
// it is what a pod waits for.
const slowCall = 10 * time.Second

// diagnose names the layer that is stuck: the innermost of which there is
// evidence, for those around it wait for it. Pure.
func diagnose(f downFacts, now time.Time) diagnosis {
	for _, look := range []func(downFacts, time.Time) (diagnosis, bool){
		diagnoseProcesses, diagnoseCalls, diagnoseStatus, diagnoseVolumes, diagnoseNetwork, diagnoseWorker,
	} {
		if d, found := look(f, now); found {
			return d
		}
	}
	return diagnosis{layer: layerNone}
}

func (f downFacts) overdue() bool { return f.graceLeft != nil && *f.graceLeft < 0 }

func (f downFacts) force() string { return "podctl rm --force " + f.name }

// diagnoseProcesses looks at what the runtime says runs.
func diagnoseProcesses(f downFacts, _ time.Time) (diagnosis, bool) {
	for _, c := range f.containers {
		p := c.process
		switch {
		case c.err != nil:
			return diagnosis{layerRuntime, fmt.Sprintf("it does not tell of %s: %v", c.name, c.err), f.askRuntime()}, true
		case p.pid == 0:
		case c.shimState == 'T' || c.shimState == 'Z' || c.shimState == 'D' && f.overdue():
			return diagnosis{layerShim, fmt.Sprintf("the shim of %s (pid %d, %c) does not work", c.name, c.shim, c.shimState),
				[]string{fmt.Sprintf("kill -CONT %d", c.shim), f.force()}}, true
		case p.state == 0 && c.shim == 0:
			return diagnosis{layerShim, fmt.Sprintf("%s (pid %d) has ended, and its shim is gone; the runtime has not noticed", c.name, p.pid), []string{f.force()}}, true
		case p.state == 0 || p.state == 'X':
			return diagnosis{layerShim, fmt.Sprintf("%s (pid %d) has ended, and the runtime has not noticed", c.name, p.pid), []string{f.force()}}, true
		case p.state == 'Z':
			next := []string{f.force()}
			if c.shim != 0 {
				next = append([]string{fmt.Sprintf("cat /proc/%d/wchan", c.shim)}, next...)
			}
			return diagnosis{layerShim, fmt.Sprintf("%s (pid %d) is a zombie: its parent, pid %d, does not wait for it", c.name, p.pid, p.parent), next}, true
		case p.state == 'D' && (p.pending || f.overdue()):
			return diagnosis{layerProcess, fmt.Sprintf("%s (pid %d) cannot be interrupted: %s", c.name, p.pid, orUnknown(p.wchan)),
				[]string{fmt.Sprintf("cat /proc/%d/stack", p.pid), f.force()}}, true
		case (p.state == 'T' || p.state == 't') && !f.overdue():
			return diagnosis{layerProcess, fmt.Sprintf("%s (pid %d) is stopped, so that SIGTERM waits", c.name, p.pid),
				[]string{fmt.Sprintf("kill -CONT %d", p.pid)}}, true
		case p.deaf && !f.overdue() && f.worker != nil:
			return diagnosis{layerProcess, fmt.Sprintf("%s (pid %d) does not listen to SIGTERM: it is killed when its grace is over", c.name, p.pid),
				[]string{"podctl stop --grace-period 1 " + f.name}}, true
		case f.worker == nil && c.shim == 0 && p.parent == 1:
			return diagnosis{layerShim, fmt.Sprintf("the shim of %s is gone, and pid %d lives on", c.name, p.pid),
				[]string{fmt.Sprintf("kill %d", p.pid), f.force()}}, true
		}
	}
	return diagnosis{}, false
}

// diagnoseCalls looks at the calls of the runtime that its podctl waits for.
func diagnoseCalls(f downFacts, now time.Time) (diagnosis, bool) {
	if f.worker == nil {
		return diagnosis{}, false
	}
	for _, c := range f.worker.Calls {
		took := now.Sub(c.Since)
		limit := slowCall
		if c.Method == "StopContainer" {
			limit += time.Duration(f.worker.GraceSeconds) * time.Second
		}
		if took < limit {
			continue
		}
		what := c.Method
		if c.Container != "" {
			what += " of " + c.Container
		}
		why := fmt.Sprintf("%s has been without an answer for %s", what, output.Age(took))
		if (c.Method == "StopPodSandbox" || c.Method == "RemovePodSandbox") && len(f.containers) == 0 {
			return diagnosis{layerNetwork, why + ": it takes down the pod's network", f.checkNetwork()}, true
		}
		return diagnosis{layerRuntime, why, f.askRuntime()}, true
	}
	return diagnosis{}, false
}

// diagnoseStatus looks at a pod of which the runtime does not tell how it is:
// without that its podctl cannot go on, whatever it has done already.
func diagnoseStatus(f downFacts, _ time.Time) (diagnosis, bool) {
	if f.worker == nil || f.worker.LastError.Layer != event.LayerStatus {
		return diagnosis{}, false
	}
	return diagnosis{layerRuntime, "it does not tell the pod's status", f.askRuntime()}, true
}

// diagnoseVolumes looks at a pod that is down and whose volumes are not.
func diagnoseVolumes(f downFacts, _ time.Time) (diagnosis, bool) {
	if f.worker == nil || len(f.containers) > 0 || f.worker.LastError.IsZero() {
		return diagnosis{}, false
	}
	if len(f.mounts) == 0 && f.worker.LastError.Layer != event.LayerVolume {
		return diagnosis{}, false
	}
	d := diagnosis{layer: layerVolume, why: "its volumes cannot be taken down"}
	if len(f.mounts) > 0 {
		d.why = f.mounts[0] + " is still mounted"
		d.next = []string{"fuser -vm " + f.mounts[0]}
	}
	return d, true
}

// diagnoseNetwork looks at a pod whose sandbox alone does not go.
func diagnoseNetwork(f downFacts, _ time.Time) (diagnosis, bool) {
	if f.worker == nil || len(f.containers) > 0 || !f.sandboxReady || f.worker.LastError.Layer != event.LayerSandbox {
		return diagnosis{}, false
	}
	return diagnosis{layerNetwork, "its sandbox does not stop: the runtime cannot take down the pod's network", f.checkNetwork()}, true
}

// diagnoseWorker looks at who takes the pod down.
func diagnoseWorker(f downFacts, now time.Time) (diagnosis, bool) {
	switch w := f.worker; {
	case w == nil && f.creator != "":
		return diagnosis{layerWorker, "its podctl, " + f.creator + ", has died while it ended the pod", []string{"podctl rm " + f.name}}, true
	case w == nil && !f.sandboxReady && len(f.containers) > 0:
		return diagnosis{layerRuntime, "its sandbox has stopped and its containers have not", []string{f.force()}}, true
	case w == nil:
		return diagnosis{}, false
	case !w.LastError.IsZero() && w.Operation == "":
		why := "the last try failed"
		if left := w.NextWake.Sub(now); !w.NextWake.IsZero() && left > 0 {
			why += ", again in " + output.Age(left.Round(time.Second))
		}
		return diagnosis{layerWorker, why, []string{f.force()}}, true
	case f.overdue() && -*f.graceLeft > slowCall:
		return diagnosis{layerWorker, "its grace is over, and its " + w.Operation + " goes on", []string{f.force()}}, true
	}
	return diagnosis{}, false
}

func (f downFacts) askRuntime() []string {
	next := []string{"podctl pleg check"}
	if f.runtimePID != 0 {
		next = append(next, fmt.Sprintf("the runtime's goroutines, in its log: kill -USR1 %d", f.runtimePID))
	}
	return append(next, f.force())
}

func (f downFacts) checkNetwork() []string {
	return []string{"crictl inspectp " + idText(f.sandbox, false), f.force()}
}

func orUnknown(wchan string) string {
	if wchan == "" {
		return "where in the kernel is not shown"
	}
	return "it waits in " + wchan
}
