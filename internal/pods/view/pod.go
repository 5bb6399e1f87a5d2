package view

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
)

// Pod is one pod, whatever created it: as the runtime lists it and its owner sees it, and what was
// read of each layer. It is also what commands print: a field that is missing in JSON is unknown, or
// does not apply.
type Pod struct {
	Metadata      `json:"metadata"` // identity of the pod
	Status        string            `json:"status"`                        // as podctl pods shows it: Running, CrashLoopBackOff, …
	Phase         string            `json:"phase"`                         // Pending, Running, Succeeded, Failed, Terminating, Rejected; Exited
	Reason        string            `json:"reason,omitempty"`              // of the pod's own status: Evicted, DeadlineExceeded, …
	Message       string            `json:"message,omitempty"`             // of the pod's own status
	Ready         int               `json:"ready"`                         // containers
	Total         int               `json:"containersTotal"`               // containers that count for readiness
	Restarts      int32             `json:"restarts"`                      // of all containers
	StartTime     time.Time         `json:"startTime,omitzero"`            // when the pod, else its first sandbox, was started
	Owner         Owner             `json:"owner"`                         // what manages it
	Spec          *Spec             `json:"spec,omitempty"`                // missing where no source of the spec is known
	Worker        control.Worker    `json:"worker,omitzero"`               // view of the podctl process that manages it
	Stopping      *Stopping         `json:"terminating,omitempty"`         // of a pod that is being terminated
	Sandbox       *Sandbox          `json:"sandbox,omitempty"`             // the newest one
	OtherReady    []Sandbox         `json:"otherReadySandboxes,omitempty"` // older sandboxes that are ready, too
	DeadSandboxes int               `json:"deadSandboxes,omitempty"`       // sandboxes that are not ready
	Cgroup        *Cgroup           `json:"cgroup,omitempty"`              // the pod's own
	Conditions    []Condition       `json:"conditions,omitempty"`          // of the pod's status
	Containers    []Container       `json:"containers"`                    // init containers first
	TakenPorts    []TakenPort       `json:"takenHostPorts,omitempty"`      // ports of the host on which a foreign process listens
	Volumes       []Volume          `json:"volumes,omitempty"`             // of the spec
	Events        []Event           `json:"events,omitempty"`              // oldest first
	Unread        []Unread          `json:"unread,omitempty"`              // layers that could not be read
	Next          []string          `json:"next"`                          // what to try, best first: mostly commands

	// Runtime is the runtime's listing, nil if the runtime holds nothing of the pod, and RuntimeStatus
	// what its status calls return, nil where it was not read.
	Runtime       *pod.Pod    `json:"-"`
	RuntimeStatus *pod.Status `json:"-"`
	// Manager is the live podctl process that reports the pod, nil if none does; Worker is its view.
	Manager *control.Process `json:"-"`
	// Creator is the podctl instance that created the newest sandbox, "" if none did.
	Creator string `json:"-"`
	// Verdict is whose pod it is.
	Verdict owners.Verdict `json:"-"`
	// Object is the pod as its owner shows it, nil where it was not read.
	Object *v1.Pod `json:"-"`
	// Server is the process that serves the runtime's socket.
	Server cri.Server `json:"-"`
	// Deleted is when its owner was asked to stop it, Grace the grace that was given then.
	Deleted time.Time     `json:"-"`
	Grace   time.Duration `json:"-"`
	// MemoryLimits are the limits of containers in bytes, by id.
	MemoryLimits map[string]*uint64 `json:"-"`
	// KernelLog is read if a container may have been killed by the kernel.
	KernelLog KernelLog `json:"-"`
	// HasImage says of images that containers wait for whether the runtime has them; one of
	// which it does not say that is missing.
	HasImage map[string]bool `json:"-"`
	Start    `json:"-"`
	Ending   Ending `json:"-"`

	// noStatus: Object is the manifest that was left on the sandbox, without a status.
	noStatus bool
	// unlisted: the runtime did not say what it holds.
	unlisted bool
	// replaced: the name is that of a newer pod.
	replaced bool
	// sandboxIPs are those of the newest sandbox, where they were read (see ReadStatuses).
	sandboxIPs []string
}

// Start is what is seen of the start of a pod.
type Start struct {
	// Processes work for the pod, Hidden is why they cannot be seen.
	Processes []Process
	Hidden    error
	// Frozen is the file of the cgroup that freezes its sandbox, "" if none does.
	Frozen string
	// Paths are those of its volumes that do not answer, or are not what the pod asks for.
	Paths []Path
	// NetworkNotReady is why the runtime's network does not work, "" if it does.
	NetworkNotReady string
	// KubeletLog are the lines of its kubelet's log that name the pod, oldest first.
	KubeletLog []string
	// Holder is the listed pod of the sandbox or container that has a name which the
	// runtime refuses, by that id.
	Holder map[string]string
}

// Metadata is the identity of a pod.
type Metadata struct {
	Namespace   string            `json:"namespace"`             // of the pod
	Name        string            `json:"name"`                  // of the pod
	UID         types.UID         `json:"uid"`                   // of the pod
	Labels      map[string]string `json:"labels,omitempty"`      // of the pod, else of its sandbox
	Annotations map[string]string `json:"annotations,omitempty"` // of the pod, where its object is known
}

// Owner is the program that manages a pod.
type Owner struct {
	Kind      string `json:"kind"`                // podctl, kubelet, other
	Instance  string `json:"instance,omitempty"`  // the podctl instance
	Exited    bool   `json:"exited,omitempty"`    // that instance has exited
	Elsewhere string `json:"elsewhere,omitempty"` // instance that owns it by another endpoint of the runtime
	Source    string `json:"source,omitempty"`    // of a kubelet's pod: file, http, api
}

// Spec is the part of a pod's spec that explains how it behaves.
type Spec struct {
	From          string `json:"from"`                                    // podctl, kubelet or sandbox: where the spec was read
	QOS           string `json:"qosClass"`                                // Guaranteed, Burstable, BestEffort
	Priority      *int32 `json:"priority,omitempty"`                      // of the spec
	RestartPolicy string `json:"restartPolicy"`                           // of the spec
	GraceSeconds  *int64 `json:"terminationGracePeriodSeconds,omitempty"` // of the spec
	Deadline      *int64 `json:"activeDeadlineSeconds,omitempty"`         // of the spec
	HostNetwork   bool   `json:"hostNetwork,omitempty"`                   // the pod uses the host's network
	HostPID       bool   `json:"hostPID,omitempty"`                       // the pod uses the host's PID namespace
	RuntimeClass  string `json:"runtimeClassName,omitempty"`              // of the spec
	Node          string `json:"nodeName,omitempty"`                      // of the spec

	ReadinessGates []string `json:"readinessGates,omitempty"` // of the spec: conditions that the pod's readiness needs
}

// Stopping is what the termination of a pod waits for.
type Stopping struct {
	Since      time.Time `json:"since,omitzero"`             // when termination began
	GraceLeft  *float64  `json:"graceLeftSeconds,omitempty"` // negative once it is exceeded
	Layer      string    `json:"layer"`                      // what it waits for, as podctl terminating shows it
	Confidence string    `json:"confidence"`                 // observed, likely or unknown
	Why        string    `json:"why,omitempty"`              // what was observed
}

// Sandbox is the newest sandbox of a pod.
type Sandbox struct {
	ID          string    `json:"id"`                         // of the sandbox
	State       string    `json:"state"`                      // ready, not ready
	Attempt     uint32    `json:"attempt"`                    // counted from 0
	CreatedAt   time.Time `json:"createdAt,omitzero"`         // when it was created
	IPs         []string  `json:"ips,omitempty"`              // primary first
	HostNetwork bool      `json:"hostNetwork,omitempty"`      // it uses the host's network
	NetNS       string    `json:"networkNamespace,omitempty"` // path
	PID         int       `json:"pid,omitempty"`              // of its first process, in the runtime's PID namespace
	Handler     string    `json:"runtimeHandler,omitempty"`   // runtime handler, missing for the default
}

// Cgroup is what a cgroup enforces and has counted.
type Cgroup struct {
	Path        string   `json:"path"`                          // below the mount point of a hierarchy
	CPULimit    *float64 `json:"cpuLimitCores,omitempty"`       // missing without a limit
	Memory      *uint64  `json:"workingSetBytes,omitempty"`     // memory that cannot be reclaimed at once
	MemoryLimit *uint64  `json:"memoryLimitBytes,omitempty"`    // missing without a limit
	MemoryPeak  *uint64  `json:"memoryPeakBytes,omitempty"`     // the most that was ever used
	Swap        *uint64  `json:"swapBytes,omitempty"`           // memory that is swapped out
	LimitHits   *uint64  `json:"memoryLimitHits,omitempty"`     // allocations that met the limit
	OOMKills    *uint64  `json:"oomKills,omitempty"`            // processes that the kernel killed
	PIDs        *uint64  `json:"pids,omitempty"`                // processes and threads
	PIDLimit    *uint64  `json:"pidLimit,omitempty"`            // missing without a limit
	Periods     *uint64  `json:"cpuPeriods,omitempty"`          // in which the CPU limit was enforced
	Throttled   *uint64  `json:"cpuThrottledPeriods,omitempty"` // in which it was reached
	PSI         pod.PSI  `json:"psi"`                           // how much its tasks wait
}

// Condition is a condition of the pod's status.
type Condition struct {
	Type    string `json:"type"`              // PodScheduled, Ready, …
	Status  string `json:"status"`            // True, False or Unknown
	Reason  string `json:"reason,omitempty"`  // of the condition
	Message string `json:"message,omitempty"` // of the condition
}

// Volume is a volume of the spec.
type Volume struct {
	Name   string `json:"name"`             // of the volume
	Kind   string `json:"kind"`             // emptyDir, configMap, …
	Source string `json:"source,omitempty"` // name of the object, path, medium
	Type   string `json:"type,omitempty"`   // of a hostPath: what has to be there: Directory, File, …
}

// Event is something that happened to the pod.
type Event struct {
	Time      time.Time `json:"time"`                // when it happened
	Warning   bool      `json:"warning,omitempty"`   // it is a warning
	Reason    string    `json:"reason"`              // the kubelet's reason: BackOff, Killing, …
	Container string    `json:"container,omitempty"` // missing for an event of the whole pod
	Message   string    `json:"message"`             // what happened
}

// Unread is a layer that could not be read, and why.
type Unread struct {
	Layer string `json:"layer"` // runtime, spec, status, details, cgroups, events, termination, kernel log, log of NAME
	Why   string `json:"why"`   // the error
	Err   error  `json:"-"`
}
