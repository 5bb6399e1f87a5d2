package describe

import (
	"time"

	"github.com/podctl/podctl/internal/diagnose"
)

// Kind is the part that a container plays in its pod.
type Kind string

// The kinds. The zero value is one whose spec is not known.
const (
	KindInit      Kind = "init"
	KindSidecar   Kind = "sidecar"
	KindRegular   Kind = "container"
	KindEphemeral Kind = "ephemeral"
)

// Container is one container of a pod.
type Container struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind,omitempty"` // init, sidecar, container, ephemeral; missing where the spec is not known
	ID      string `json:"id,omitempty"`   // of the newest attempt, missing if it was never created
	Attempt uint32 `json:"attempt"`
	Image   string `json:"image"`
	ImageID string `json:"imageID,omitempty"`

	State   string `json:"state"`             // waiting, running, terminated, created, unknown
	Reason  string `json:"reason,omitempty"`  // why it waits
	Message string `json:"message,omitempty"` // why it waits, in words
	// RetryAt is the end of the back-off, and BackOffSeconds all of it.
	RetryAt        time.Time `json:"retryAt,omitzero"`
	BackOffSeconds float64   `json:"backOffSeconds,omitempty"`
	Ready          *bool     `json:"ready,omitempty"`
	Restarts       int32     `json:"restarts"`
	StartedAt      time.Time `json:"startedAt,omitzero"` // of a container that runs
	PID            int       `json:"pid,omitempty"`
	User           string    `json:"user,omitempty"` // UID:GID

	// End is how a terminated container ended, Last how the attempt before the one
	// that runs or waits ended.
	End  *End `json:"end,omitempty"`
	Last *End `json:"lastEnd,omitempty"`

	Command  []string          `json:"command,omitempty"`
	Args     []string          `json:"args,omitempty"`
	Env      []Env             `json:"env,omitempty"`
	Ports    []string          `json:"ports,omitempty"`
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
	Probes   []Probe           `json:"probes,omitempty"`
	Mounts   []Mount           `json:"mounts,omitempty"`
	Cgroup   *Cgroup           `json:"cgroup,omitempty"`

	LogPath string `json:"logPath,omitempty"`
	// LogLines are the last ones of a container that failed.
	LogLines []string `json:"lastLogLines,omitempty"`
}

// End is how a process ended, and why.
type End struct {
	ID         string    `json:"id,omitempty"` // of the container
	ExitCode   int32     `json:"exitCode"`
	Reason     string    `json:"reason,omitempty"`  // the runtime's: Completed, Error, OOMKilled, …
	Message    string    `json:"message,omitempty"` // termination message
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	Cause      Cause     `json:"cause"`
}

// Cause is why a process ended.
type Cause struct {
	Kind       CauseKind           `json:"kind"`
	Text       string              `json:"text"`
	Confidence diagnose.Confidence `json:"confidence"` // observed, likely or unknown
	Evidence   []string            `json:"evidence,omitempty"`
}

// Env is an environment variable: its value, or where that comes from.
type Env struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	From  string `json:"from,omitempty"` // secret NAME key KEY, configmap …, field …; its value is not read
}

// Probe is a probe of a container and its last result.
type Probe struct {
	Type    string `json:"type"`    // startup, liveness, readiness
	Handler string `json:"handler"` // http-get :8080/healthz, exec …, tcp-socket :80, grpc :9000
	Period  int32  `json:"periodSeconds"`
	// Result is failure, warning or error; missing if it passed when it was last
	// asked, or if that is not known.
	Result   string `json:"result,omitempty"`
	Failures int32  `json:"failures,omitempty"` // in a row
	Output   string `json:"output,omitempty"`
}

// Mount is a mount of a container.
type Mount struct {
	Path     string `json:"path"`             // in the container
	Volume   string `json:"volume,omitempty"` // of the spec
	HostPath string `json:"hostPath,omitempty"`
	Image    string `json:"image,omitempty"` // that is mounted
	ReadOnly bool   `json:"readOnly,omitempty"`
}
