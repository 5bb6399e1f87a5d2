package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pod/event"
)

// Kind is the part that a container plays in its pod.
type ContainerKind string

// The kinds. The zero value is one whose spec is not known.
const (
	KindInit      ContainerKind = "init"
	KindSidecar   ContainerKind = "sidecar"
	KindRegular   ContainerKind = "container"
	KindEphemeral ContainerKind = "ephemeral"
)

// Container is one container of a pod.
type Container struct {
	Name    string        `json:"name"`              // of the container
	Kind    ContainerKind `json:"kind,omitempty"`    // init, sidecar, container, ephemeral; missing where the spec is not known
	ID      string        `json:"id,omitempty"`      // of the newest attempt, missing if it was never created
	Attempt uint32        `json:"attempt"`           // counted from 0
	Image   string        `json:"image"`             // as the spec names it
	ImageID string        `json:"imageID,omitempty"` // digested reference, or the runtime's id

	State          string    `json:"state"`                    // waiting, running, terminated, created, unknown
	Reason         string    `json:"reason,omitempty"`         // why it waits
	Message        string    `json:"message,omitempty"`        // why it waits, in words
	RetryAt        time.Time `json:"retryAt,omitzero"`         // end of the back-off
	BackOffSeconds float64   `json:"backOffSeconds,omitempty"` // all of the back-off of a container that exited
	Started        *bool     `json:"started,omitempty"`        // by the pod's status: its startup probe has succeeded, or it has none
	Ready          *bool     `json:"ready,omitempty"`          // by the pod's status
	Starting       bool      `json:"starting,omitempty"`       // it runs, and its owner has not finished its start: the postStart hook runs
	Restarts       int32     `json:"restarts"`                 // as kubectl counts them
	StartedAt      time.Time `json:"startedAt,omitzero"`       // of a container that runs
	PID            int       `json:"pid,omitempty"`            // of its first process, in the runtime's PID namespace
	Gone           bool      `json:"processGone,omitempty"`    // no process has that PID, though the runtime says that it runs
	Frozen         string    `json:"frozenBy,omitempty"`       // file of the cgroup that freezes it
	User           string    `json:"user,omitempty"`           // UID:GID

	End  *End `json:"end,omitempty"`     // how a terminated container ended
	Last *End `json:"lastEnd,omitempty"` // how the attempt ended before the one that runs or waits

	OtherRuns []Attempt `json:"otherRuns,omitempty"` // older attempts that run, too, or may run

	Command   []string          `json:"command,omitempty"`   // of the spec
	Args      []string          `json:"args,omitempty"`      // of the spec
	Env       []Env             `json:"env,omitempty"`       // of the spec
	Ports     []string          `json:"ports,omitempty"`     // PORT/PROTOCOL, and the host's port
	Requests  map[string]string `json:"requests,omitempty"`  // of the spec
	Limits    map[string]string `json:"limits,omitempty"`    // of the spec
	Probes    []Probe           `json:"probes,omitempty"`    // of the spec, with the last result of those that fail
	PostStart string            `json:"postStart,omitempty"` // handler of the hook of the spec
	Mounts    []Mount           `json:"mounts,omitempty"`    // of the spec, else all of the runtime
	Cgroup    *Cgroup           `json:"cgroup,omitempty"`    // of a container that runs

	Denied []string `json:"denied,omitempty"` // what the logs of the kernel and of auditd say that it was denied: while it runs, then in the runs that have ended, each time the last first

	LogPath  string   `json:"logPath,omitempty"`      // file that its newest attempt writes
	LogLines []string `json:"lastLogLines,omitempty"` // of a container that failed
}

// Attempt is an attempt of a container that runs although a newer one is there.
type Attempt struct {
	ID        string    `json:"id"`                 // of the attempt
	Attempt   uint32    `json:"attempt"`            // counted from 0
	State     string    `json:"state"`              // running, unknown
	CreatedAt time.Time `json:"createdAt,omitzero"` // when it was created
	StartedAt time.Time `json:"startedAt,omitzero"` // when it was started, where that could be read
	PID       int       `json:"pid,omitempty"`      // of its first process, in the runtime's PID namespace
}

// End is how a process ended, and why.
type End struct {
	ID         string    `json:"id,omitempty"`        // of the container
	ExitCode   int32     `json:"exitCode"`            // 128 + N for signal N
	Reason     string    `json:"reason,omitempty"`    // the runtime's: Completed, Error, OOMKilled, …
	Message    string    `json:"message,omitempty"`   // termination message
	StartedAt  time.Time `json:"startedAt,omitzero"`  // when it was started
	FinishedAt time.Time `json:"finishedAt,omitzero"` // when it ended
	Cause      Cause     `json:"cause"`               // why it ended
}

// Cause is why a process ended.
type Cause struct {
	Kind       CauseKind `json:"kind"`               // completed, exit, start-error, oom, host-oom, stop, probe, crash, signal, lost
	Text       string    `json:"text"`               // the cause in words
	Confidence string    `json:"confidence"`         // observed, likely or unknown
	Evidence   []string  `json:"evidence,omitempty"` // what was observed
	// LostProcess: the kernel killed a process of it for lack of memory just before it ended
	// by itself.
	LostProcess bool `json:"lostProcess,omitempty"`
}

// CauseKind is the kind of a cause.
type CauseKind string

// The kinds of causes.
const (
	CauseCompleted CauseKind = "completed"   // exit code 0
	CauseExit      CauseKind = "exit"        // the program returned another one
	CauseStart     CauseKind = "start-error" // it could not be started
	CauseOOM       CauseKind = "oom"         // the kernel killed it at a memory limit, or for a reason that is not known
	CauseHostOOM   CauseKind = "host-oom"    // the kernel killed it because the host had no memory
	CauseStop      CauseKind = "stop"        // it was asked to stop
	CauseLiveness  CauseKind = "probe"       // a liveness or startup probe failed
	CauseCrash     CauseKind = "crash"       // a signal that a process brings on itself
	CauseSignal    CauseKind = "signal"      // a signal of an unknown sender
	CauseLost      CauseKind = "lost"        // the runtime does not know
)

// Env is an environment variable: its value, or where that comes from.
type Env struct {
	Name  string `json:"name"`            // of the variable; PREFIX* for all keys of an object
	Value string `json:"value,omitempty"` // as the manifest has it
	From  string `json:"from,omitempty"`  // secret NAME key KEY, configmap …, field …; its value is not read
}

// ProbeType is the type of a probe.
type ProbeType string

// The types of probes.
const (
	StartupProbe   ProbeType = "startup"
	LivenessProbe  ProbeType = "liveness"
	ReadinessProbe ProbeType = "readiness"
)

// Probe is a probe of a container and its last result.
type Probe struct {
	Type     ProbeType `json:"type"`               // startup, liveness, readiness
	Handler  string    `json:"handler"`            // http-get :8080/healthz, exec …, tcp-socket :80, grpc :9000
	Period   int32     `json:"periodSeconds"`      // of the probe
	Result   string    `json:"result,omitempty"`   // failure, warning or error; missing if it passed when it was last asked, or if that is not known
	Failures int32     `json:"failures,omitempty"` // in a row
	Output   string    `json:"output,omitempty"`   // what it said
}

// Mount is a mount of a container.
type Mount struct {
	Path     string `json:"path"`               // in the container
	Volume   string `json:"volume,omitempty"`   // of the spec
	HostPath string `json:"hostPath,omitempty"` // on the host
	Image    string `json:"image,omitempty"`    // that is mounted
	ReadOnly bool   `json:"readOnly,omitempty"` // the container cannot write
}

// The states of a container: those of the Kubernetes API, and what only the runtime knows.
const (
	Waiting    = "waiting"
	Running    = "running"
	Terminated = "terminated"
	Created    = "created"
	Unknown    = "unknown"
)

// The states of a sandbox.
const (
	Ready    = "ready"
	NotReady = "not ready"
)

// ReasonLost is what the kubelet and podctl put for a container that the runtime has no more. Its exit
// code is a placeholder.
const ReasonLost = "ContainerStatusUnknown"

// Text is "exited 3", or "ended" where the exit code is not known.
func (e *End) Text() string {
	if e.Reason == ReasonLost {
		return "ended"
	}
	return fmt.Sprintf("exited %d", e.ExitCode)
}

// LastLine returns the last line of the log of a container that failed, "" if it is not known.
func (c *Container) LastLine() string {
	if len(c.LogLines) == 0 {
		return ""
	}
	return c.LogLines[len(c.LogLines)-1]
}

// MayBeOOM reports whether the kernel may have killed the process for lack of memory.
func (e *End) MayBeOOM() bool {
	return e.ExitCode == 128+9 && e.Reason != ReasonLost || e.Reason == "OOMKilled"
}

// Failure returns how a container that does not run failed, nil if it did not.
func (c *Container) Failure() *End {
	end := c.End
	if c.State == Waiting {
		end = c.Last
	}
	if end == nil || end.ExitCode == 0 {
		return nil
	}
	return end
}

// Ends returns how the newest attempts of the container ended, in no order.
func (c *Container) Ends() []*End {
	return slices.DeleteFunc([]*End{c.End, c.Last}, func(e *End) bool { return e == nil })
}

// LastEnd returns how the last attempt of a container that does not run ended, nil if it is not known.
func (c *Container) LastEnd() *End {
	if c.State == Waiting || c.State == Running {
		return c.Last
	}
	return c.End
}

// FailingProbe is the liveness or startup probe that fails, "" if none does.
func (c *Container) FailingProbe() ProbeType {
	for _, p := range c.Probes {
		if p.Result == string(event.ProbeFailed) && p.Type != ReadinessProbe {
			return p.Type
		}
	}
	return ""
}

// WaitsForImage reports whether the image could not be pulled.
func (c *Container) WaitsForImage() bool {
	return c.Reason == "ErrImagePull" || c.Reason == "ImagePullBackOff"
}

// Unready reports whether a container that runs is not ready.
func (c *Container) Unready() bool {
	return c.State == Running && c.Kind != KindInit && c.Ready != nil && !*c.Ready
}

// ReadySandbox returns the newest sandbox if it is ready, else nil.
func (p *Pod) ReadySandbox() *Sandbox {
	if p.Sandbox == nil || p.Sandbox.State != Ready {
		return nil
	}
	return p.Sandbox
}

// Container returns the container of a name, nil if there is none.
func (p *Pod) Container(name string) *Container {
	if i := slices.IndexFunc(p.Containers, func(c Container) bool { return c.Name == name }); i >= 0 {
		return &p.Containers[i]
	}
	return nil
}
