package podsync

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
)

// Plan lists the changes to make to a pod now. The zero value has none.
// Changes are made in the order of the fields (podActions in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
type Plan struct {
	// KillPod: stop every container and every sandbox.
	KillPod bool
	// Kill are single containers to stop, unless KillPod is set.
	Kill []Kill
	// Reset are the containers to remove from the runtime, in order, because all
	// of the pod's containers restart; none is removed if KillPod is set.
	Reset []Reset
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
	// Memory and CPU are the running containers to resize, those that shrink first.
	Memory, CPU []Resize
	// ResizePod: the pod's cgroup has to be resized, because the pod or a container
	// of it gets other resources, in place or with its next start.
	ResizePod bool
	// Ephemeral are the ephemeral containers to start, each on its own.
	Ephemeral []Start
	// Init are the init containers to start, in order; a sidecar that cannot
	// start is passed over, another ends the sync.
	Init []Start
	// Containers are the regular containers to start, each on its own.
	Containers []Start
}

// Empty reports whether the plan changes nothing.
func (p Plan) Empty() bool {
	return !p.KillPod && !p.CreateSandbox && len(p.Kill)+len(p.Reset)+len(p.Remove)+len(p.Ephemeral)+len(p.Init)+len(p.Containers) == 0 && !p.resizes()
}

// Starts reports whether the plan creates a sandbox or a container.
func (p Plan) Starts() bool {
	return p.CreateSandbox || len(p.Ephemeral)+len(p.Init)+len(p.Containers) > 0
}

// Start is a container to start.
type Start struct {
	Container *v1.Container
	// NotBefore is the end of its crash back-off, zero if it may start now.
	NotBefore time.Time
	// Backoff is that wait as a whole, for the message; 0 without one.
	Backoff time.Duration
	// Target names the container whose processes an ephemeral container sees; ""
	// is none.
	Target string
	// FinishedAt is when its last run ended, zero without one: where the next
	// back-off is counted from.
	FinishedAt time.Time
	// ExitCode is that of its last run.
	ExitCode int32
}

// KillReason is why a container is killed. Some reasons change the grace
// period.
type KillReason string

// The kubelet's reasons. It has none for a changed definition, nor for a request.
const (
	KillUnknown         KillReason = "Unknown"
	KillLivenessProbe   KillReason = "LivenessProbe"
	KillStartupProbe    KillReason = "StartupProbe"
	KillPostStartFailed KillReason = "FailedPostStartHook"
	KillChanged         KillReason = ""
	KillRestartAll      KillReason = "RestartAllContainers"
	KillRequested       KillReason = "RestartRequested"
)

// Kill is a container to stop.
type Kill struct {
	ID, Name string
	Reason   KillReason
	// Message is the event's text, "" for the default.
	Message string
}

// Reset is a container to remove because all of the pod's containers restart.
type Reset struct {
	ID, Name string
	// Kill: stop it first, without a grace period.
	Kill bool
}

// ActionInput is what Actions decides by, besides the pod and its status.
type ActionInput struct {
	Probes pod.ProbeResults
	// Requested are the runs of containers that are to be restarted on request, by id.
	Requested map[string]bool
	// RestartAll: all of the pod's containers restart (AllContainersRestarting
	// in its status).
	RestartAll bool
	// Actuated is what running containers were given, by name; of one that is not in
	// it nothing has to change.
	Actuated map[string]pod.Amounts
	// ActuatedPod is what the pod as a whole was given, nil if nothing has to change.
	ActuatedPod *pod.Amounts
	// Backoff is the crash back-off, keyed by BackoffKey; nil for none.
	Backoff *Backoff
	Now     time.Time
}

// Actions compares a pod with what the runtime holds of it and returns the
// next changes to make. It is pure and total; making the changes and calling
// it again with a fresh status leads to an empty plan, or to one that waits
// (computePodActions in pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func Actions(p *v1.Pod, st *pod.Status, in ActionInput) Plan {
	sandbox := judgeSandbox(p, st)
	renew := sandbox.newSandboxReason != ""
	plan := Plan{KillPod: renew, SandboxID: sandbox.id, Attempt: sandbox.attempt}
	switch {
	case in.RestartAll:
		plan.CreateSandbox = renew
		plan.Reset = resets(p, st)
	case renew:
		plan.planNewSandbox(p, st, in)
	default:
		plan.planInSandbox(p, st, in)
	}
	plan.Remove = plan.removes(p, st)
	return plan
}

// planInSandbox plans the next changes in the sandbox that the pod has.
func (p *Plan) planInSandbox(v *v1.Pod, st *pod.Status, in ActionInput) {
	p.ephemeralContainers(v, st)
	initialized := p.initContainers(v, st, in)
	if p.KillPod || !initialized {
		return
	}
	kept := p.regularContainers(v, st, in)
	if in.ActuatedPod != nil && *in.ActuatedPod != *podAmounts(v) {
		p.ResizePod = true
	}
	p.ResizePod = p.ResizePod || p.startsResized(v, in)
	if kept == 0 && len(p.Containers) == 0 {
		// Sidecars alone do not keep a pod alive.
		p.killPod()
	}
}

// ephemeralContainers plans to start those that were never created: they are not
// restarted, and do not wait for init containers.
func (p *Plan) ephemeralContainers(v *v1.Pod, st *pod.Status) {
	for i := range v.Spec.EphemeralContainers {
		c := &v.Spec.EphemeralContainers[i]
		if st.Container(c.Name) == nil {
			p.Ephemeral = append(p.Ephemeral, Start{Container: pod.Ephemeral(c), Target: c.TargetContainerName})
		}
	}
}

// killPod turns the plan into the termination of the pod.
func (p *Plan) killPod() {
	p.KillPod = true
	p.Init = nil
}

// planNewSandbox plans a new sandbox and a start from the beginning, or only the
// termination of the old one where no container remains to be started.
func (p *Plan) planNewSandbox(v *v1.Pod, st *pod.Status, in ActionInput) {
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
	if len(v.Spec.InitContainers) > 0 {
		p.Init = []Start{in.start(v, &v.Spec.InitContainers[0], st)}
		return
	}
	p.Containers = start
}

// removes returns the init containers to remove: every run before a new sandbox,
// else the dead runs but for the last of each.
func (p *Plan) removes(v *v1.Pod, st *pod.Status) []string {
	switch {
	case p.CreateSandbox:
		return allInit(v, st)
	case len(p.Reset) > 0:
		return nil // they are among the containers to reset
	}
	return surplusInit(v, st)
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
				p.killIfUnknown("Container", last)
			}
			continue
		}
		kill, restart, unwanted := in.mustStop(v, c, last)
		if !unwanted {
			if kill, restart = p.resize(v, c, last, in); !restart {
				kept++
				continue
			}
			p.Containers = append(p.Containers, in.start(v, c, st))
			p.Kill = append(p.Kill, kill)
			continue
		}
		switch {
		case restart:
			kill.Message += ", will be restarted"
			p.Containers = append(p.Containers, in.start(v, c, st))
		case kill.Reason == KillRequested:
			kept++ // its restart rules decide once its exit code is known
		}
		p.Kill = append(p.Kill, kill)
	}
	return kept
}

// killIfUnknown plans to stop a container whose state the runtime has lost, so
// that two runs of it never coexist.
func (p *Plan) killIfUnknown(what string, last *pod.ContainerStatus) {
	if last == nil || last.State != pod.Unknown {
		return
	}
	p.Kill = append(p.Kill, Kill{
		ID: last.ID, Name: last.Name, Reason: KillUnknown,
		Message: fmt.Sprintf("%s is in %q state, try killing it before restart", what, last.State),
	})
}

// mustStop reports whether a running regular container must stop, and whether
// it restarts.
func (in ActionInput) mustStop(v *v1.Pod, c *v1.Container, last *pod.ContainerStatus) (kill Kill, restart, unwanted bool) {
	kill = Kill{ID: last.ID, Name: c.Name}
	restart = restartsIfKilled(c, &v.Spec)
	switch {
	case definitionChanged(c, last):
		kill.Reason, kill.Message = KillChanged, fmt.Sprintf("Container %s definition changed", c.Name)
		restart = true
	case in.Probes.Liveness[last.ID] == pod.ProbeFailure:
		kill.Reason, kill.Message = KillLivenessProbe, fmt.Sprintf("Container %s failed liveness probe", c.Name)
	case in.Probes.Startup[last.ID] == pod.ProbeFailure:
		kill.Reason, kill.Message = KillStartupProbe, fmt.Sprintf("Container %s failed startup probe", c.Name)
	case in.Requested[last.ID]:
		kill.Reason, kill.Message = KillRequested, requestMessage(c)
	default:
		return Kill{}, false, false
	}
	return kill, restart, true
}

// start returns the planned start of a container, with its back-off. A start on request
// has none.
func (in ActionInput) start(v *v1.Pod, c *v1.Container, st *pod.Status) Start {
	s := Start{Container: c}
	if last := st.Container(c.Name); last != nil && in.Requested[last.ID] {
		return s
	}
	for _, cs := range st.Containers {
		if cs.Name == c.Name && cs.State == pod.Exited {
			s.FinishedAt, s.ExitCode = cs.FinishedAt, cs.ExitCode
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

// definitionChanged reports whether a running container was made from another definition:
// another image. A container without a hash counts as unchanged (containerChanged in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func definitionChanged(c *v1.Container, last *pod.ContainerStatus) bool {
	return last.Hash != "" && last.Hash != render.Hash(c)
}
