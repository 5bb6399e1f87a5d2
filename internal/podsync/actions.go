package podsync

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Plan is what has to be done to a pod now. The zero value is nothing.
// It is carried out in the order of its fields (podActions in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
type Plan struct {
	// KillPod: stop every container and every sandbox.
	KillPod bool
	// Kill are single containers to stop. Empty if KillPod is set.
	Kill []Kill
	// Remove are ids of dead init containers to remove from the runtime: all
	// of them before a new sandbox, else all but the last run of each.
	Remove []string
	// CreateSandbox: make a sandbox, with Attempt.
	CreateSandbox bool
	// SandboxID is the sandbox to start containers in where none is created,
	// and the one that is replaced where one is; "" if there is none.
	SandboxID string
	// Attempt is that of the sandbox that containers are started in.
	Attempt uint32
	// Init are the init containers to start, in order; a sidecar that cannot
	// start is passed over, another ends the sync.
	Init []Start
	// Containers are the regular containers to start, each on its own.
	Containers []Start
}

// Empty tells whether the plan changes nothing.
func (p Plan) Empty() bool {
	return !p.KillPod && !p.CreateSandbox && len(p.Kill)+len(p.Remove)+len(p.Init)+len(p.Containers) == 0
}

// Starts tells whether the plan creates a sandbox or a container.
func (p Plan) Starts() bool {
	return p.CreateSandbox || len(p.Init)+len(p.Containers) > 0
}

// Start is a container to start.
type Start struct {
	Container *v1.Container
	// NotBefore is the end of its crash back-off, zero if it may start now.
	NotBefore time.Time
	// Backoff is that wait as a whole, for the message; 0 without one.
	Backoff time.Duration
	// FinishedAt is when its last run ended, zero without one: where the next
	// back-off is counted from.
	FinishedAt time.Time
}

// KillReason says why a container is killed. Some reasons change the grace.
type KillReason string

// Why a container is killed.
const (
	KillUnknown         KillReason = "Unknown"
	KillLivenessProbe   KillReason = "LivenessProbe"
	KillStartupProbe    KillReason = "StartupProbe"
	KillPostStartFailed KillReason = "FailedPostStartHook"
	KillChanged         KillReason = "Changed"
	KillRestartAll      KillReason = "RestartAllContainers"
)

// Kill is a container to stop.
type Kill struct {
	ID, Name string
	Reason   KillReason
	// Message is the event's text, "" for the usual one.
	Message string
}

// ActionInput is what Actions decides by, beside the pod and its status.
type ActionInput struct {
	Probes pod.ProbeResults
	// Backoff is the crash back-off, keyed by BackoffKey; nil for none.
	Backoff *Backoff
	Now     time.Time
}

// Actions compares a pod with what the runtime holds of it and says what to
// do next. It is pure and total; carrying the plan out and asking again with
// a fresh status leads to an empty plan, or to one that waits
// (computePodActions in pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func Actions(p *v1.Pod, st *pod.Status, in ActionInput) Plan {
	sandbox := judgeSandbox(p, st)
	plan := Plan{SandboxID: sandbox.id, Attempt: sandbox.attempt}
	if sandbox.changed {
		plan.renew(p, st, in)
		return plan
	}
	plan.Remove = surplusInit(p, st)
	initialized := plan.initContainers(p, st, in)
	if plan.KillPod || !initialized {
		return plan
	}
	kept := plan.regularContainers(p, st, in)
	if kept == 0 && len(plan.Containers) == 0 {
		// Sidecars alone do not keep a pod alive.
		plan.killPod()
	}
	return plan
}

// killPod turns the plan into the end of the pod.
func (p *Plan) killPod() {
	p.KillPod = true
	p.Kill, p.Init = nil, nil
}

// renew plans a new sandbox and a start from the beginning, or only the end
// of the old one where nothing is left to run.
func (p *Plan) renew(v *v1.Pod, st *pod.Status, in ActionInput) {
	p.KillPod = len(st.Sandboxes) > 0 || st.AnyRunning()
	if v.Spec.RestartPolicy == v1.RestartPolicyNever && p.Attempt != 0 && len(st.Containers) > 0 {
		return
	}
	var start []Start
	for i := range v.Spec.Containers {
		c := &v.Spec.Containers[i]
		if runsOnce(c, &v.Spec) && succeeded(c, st) {
			continue
		}
		start = append(start, in.start(v, c, st))
	}
	if len(start) == 0 && anyRegularCreated(v, st) {
		return
	}
	p.CreateSandbox = true
	p.Remove = allInit(v, st)
	if len(v.Spec.InitContainers) > 0 {
		p.Init = []Start{in.start(v, &v.Spec.InitContainers[0], st)}
		return
	}
	p.Containers = start
}

// regularContainers plans starts and kills, and counts the containers that
// go on running.
func (p *Plan) regularContainers(v *v1.Pod, st *pod.Status, in ActionInput) (kept int) {
	for i := range v.Spec.Containers {
		c := &v.Spec.Containers[i]
		last := st.Container(c.Name)
		if last == nil || last.State != pod.Running {
			if mustStart(v, c, st) {
				p.Containers = append(p.Containers, in.start(v, c, st))
				p.killIfUnknown(last)
			}
			continue
		}
		kill, restart, unwanted := in.unwanted(v, c, last)
		if !unwanted {
			kept++
			continue
		}
		if restart {
			kill.Message += ", will be restarted"
			p.Containers = append(p.Containers, in.start(v, c, st))
		}
		p.Kill = append(p.Kill, kill)
	}
	return kept
}

// killIfUnknown plans to stop a container of which nobody knows whether it
// still runs, so that two never do.
func (p *Plan) killIfUnknown(last *pod.ContainerStatus) {
	if last == nil || last.State != pod.Unknown {
		return
	}
	p.Kill = append(p.Kill, Kill{
		ID: last.ID, Name: last.Name, Reason: KillUnknown,
		Message: fmt.Sprintf("Container is in %q state, try killing it before restart", last.State),
	})
}

// unwanted says whether a running regular container has to go, and whether it
// comes back.
func (in ActionInput) unwanted(v *v1.Pod, c *v1.Container, last *pod.ContainerStatus) (kill Kill, restart, unwanted bool) {
	kill = Kill{ID: last.ID, Name: c.Name}
	restart = restartsIfKilled(c, &v.Spec)
	switch {
	case changed(c, last):
		kill.Reason, kill.Message = KillChanged, fmt.Sprintf("Container %s definition changed", c.Name)
		restart = true
	case in.Probes.Liveness[last.ID] == pod.ProbeFailure:
		kill.Reason, kill.Message = KillLivenessProbe, fmt.Sprintf("Container %s failed liveness probe", c.Name)
	case in.Probes.Startup[last.ID] == pod.ProbeFailure:
		kill.Reason, kill.Message = KillStartupProbe, fmt.Sprintf("Container %s failed startup probe", c.Name)
	default:
		return Kill{}, false, false
	}
	return kill, restart, true
}

// start is the planned start of a container, with its back-off.
func (in ActionInput) start(v *v1.Pod, c *v1.Container, st *pod.Status) Start {
	s := Start{Container: c}
	for _, cs := range st.Containers {
		if cs.Name == c.Name && cs.State == pod.Exited {
			s.FinishedAt = cs.FinishedAt
			break
		}
	}
	if s.FinishedAt.IsZero() {
		return s
	}
	key := BackoffKey(v, c)
	if until, waiting := in.Backoff.UntilAfter(key, s.FinishedAt, in.Now); waiting {
		s.NotBefore, s.Backoff = until, in.Backoff.Delay(key)
	}
	return s
}
