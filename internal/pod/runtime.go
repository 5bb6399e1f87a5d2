package pod

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State is the state of a sandbox or container as a runtime listing shows it.
// A sandbox is only ever Running (the CRI's READY) or Exited (NOTREADY).
// The zero value is Unknown.
type State uint8

const (
	// Unknown: the runtime lost track, or answered with a state that the CRI
	// does not define.
	Unknown State = iota
	// Created: created and not started. Sandboxes are never Created.
	Created
	// Running: started, and its process has not been reaped; a READY sandbox.
	Running
	// Exited: its process is gone; a NOTREADY sandbox.
	Exited
)

var stateNames = [...]string{Unknown: "unknown", Created: "created", Running: "running", Exited: "exited"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Pod is one pod as a runtime listing shows it: everything that carries one
// pod UID, but never what podctl created together with what it did not create. It is the
// counterpart of kubecontainer.Pod (pkg/kubelet/container/runtime.go).
type Pod struct {
	UID       types.UID
	Name      string
	Namespace string
	// SharedUID is the UID that the pod's creator gave it where that is not UID, because
	// it is not the UID of this pod alone: it was given to a pod of podctl's, too (UID is
	// then a SeparateUID), or the pod is a bare one, whose sandboxes have no UID label and
	// are neither a kubelet's nor podctl's (UID is a BareUID). "" for other pods.
	SharedUID types.UID
	// Sandboxes and Containers are sorted newest first.
	Sandboxes  []*Sandbox
	Containers []*Container
}

// UIDs returns those of the pods, and those that their creators gave them: of what is named
// by one, a pod may have a part.
func UIDs(pods []*Pod) map[types.UID]bool {
	uids := make(map[types.UID]bool, len(pods))
	for _, p := range pods {
		uids[p.UID] = true
		if p.SharedUID != "" {
			uids[p.SharedUID] = true
		}
	}
	return uids
}

// Sandbox is one entry of ListPodSandbox.
type Sandbox struct {
	ID        string
	Attempt   uint32
	State     State // Running or Exited
	CreatedAt time.Time
	// RuntimeHandler is the handler the sandbox was made with, "" for the default.
	RuntimeHandler string
	// Labels are the sandbox's labels.
	Labels map[string]string
	// Owner is the podctl instance that created the sandbox, "" if podctl did
	// not (see OwnerAnnotation).
	Owner string
	// OwnerID is the unique id of that process, "" if it is not known (see
	// InstanceAnnotation).
	OwnerID string
	// Workload is the workload of which podctl made the pod, "" if there is none (see
	// WorkloadAnnotation).
	Workload string
	// Source is the source of the pod in the kubelet that created the sandbox: file,
	// http or api (see ConfigSourceAnnotation). "" if no kubelet did.
	Source string
	// DefaultContainer is the container that commands mean where none is named
	// (see DefaultContainerAnnotation), "" if the pod does not name one.
	DefaultContainer string
	// Devices are those of its containers, "" if they have none (see
	// DevicesAnnotation).
	Devices string
	// HasManifest reports whether the sandbox carries its pod's manifest. The
	// manifest itself is dropped from listings and read on adoption only.
	HasManifest bool
}

// HasUIDLabel reports whether the sandbox's creator gave it the UID label. CRI-O adds
// the label to each sandbox without one, and marks all of its sandboxes with the name
// of a container; there only kubelets and podctl are known to have given it.
func (s *Sandbox) HasUIDLabel() bool {
	byCRIO := s.Labels[ContainerNameLabel] == crioSandbox && s.Owner == "" && s.Source == ""
	return s.Labels[UIDLabel] != "" && !byCRIO
}

// crioSandbox is the container's name in the labels of every sandbox of CRI-O.
const crioSandbox = "POD"

// Container is one entry of ListContainers.
type Container struct {
	ID        string
	SandboxID string
	Name      string
	Attempt   uint32
	State     State
	CreatedAt time.Time
	// Image is the image as it was asked for, ImageID the runtime's own id of it.
	Image   string
	ImageID string
	// Hash identifies the container's spec (HashAnnotation), "" if unlabelled.
	Hash string
}

// Running reports whether a sandbox is ready or a container runs.
// (A pod whose sandbox alone is ready still counts: it holds its name,
// its network and its cgroup.)
func (p *Pod) Running() bool {
	for _, s := range p.Sandboxes {
		if s.State == Running {
			return true
		}
	}
	for _, c := range p.Containers {
		if c.State == Running {
			return true
		}
	}
	return false
}

// MayBeRunning reports whether the pod is Running, or has a container in state Unknown.
func (p *Pod) MayBeRunning() bool {
	return p.Running() || slices.ContainsFunc(p.Containers, func(c *Container) bool { return c.State == Unknown })
}

// Superseded returns the ready sandboxes that are not the newest, and the running or unknown
// attempts of containers that have a newer attempt; newest first.
func (p *Pod) Superseded() (sandboxes []*Sandbox, containers []*Container) {
	for i, s := range p.Sandboxes {
		if i > 0 && s.State == Running {
			sandboxes = append(sandboxes, s)
		}
	}
	newest := map[string]bool{}
	for _, c := range p.Containers {
		if newest[c.Name] && (c.State == Running || c.State == Unknown) {
			containers = append(containers, c)
		}
		newest[c.Name] = true
	}
	return sandboxes, containers
}

// FullName returns the pod's name in the form that exclusivity is about.
func (p *Pod) FullName() string { return FullName(p.Name, p.Namespace) }

// SandboxLabels returns the labels of the pod's newest sandbox, nil if there is
// none. The pod may be nil.
func (p *Pod) SandboxLabels() map[string]string {
	if p == nil || len(p.Sandboxes) == 0 {
		return nil
	}
	return p.Sandboxes[0].Labels
}

// MadeByKubelet reports whether podctl did not create the pod's newest sandbox, which
// has the annotation that kubelets give every pod, or their labels.
func (p *Pod) MadeByKubelet() bool {
	if !p.IsForeign() {
		return false
	}
	newest := p.Sandboxes[0]
	return newest.Source != "" || newest.HasUIDLabel()
}

// DefaultContainer returns that of the pod's newest sandbox, "" if there is none.
// The pod may be nil.
func (p *Pod) DefaultContainer() string {
	if p == nil || len(p.Sandboxes) == 0 {
		return ""
	}
	return p.Sandboxes[0].DefaultContainer
}

// IDs maps the ids of a pod's sandboxes and containers to the containers' names;
// a sandbox has none. The pod may be nil.
func (p *Pod) IDs() map[string]string {
	if p == nil {
		return nil
	}
	names := make(map[string]string, len(p.Sandboxes)+len(p.Containers))
	for _, s := range p.Sandboxes {
		names[s.ID] = ""
	}
	for _, c := range p.Containers {
		names[c.ID] = c.Name
	}
	return names
}

// PSI is the pressure stall information of a cgroup. A nil field is not known.
type PSI struct {
	CPU     *Stall `json:"cpu,omitempty"`     // waiting for CPU
	Memory  *Stall `json:"memory,omitempty"`  // waiting for memory
	IO      *Stall `json:"io,omitempty"`      // waiting for storage
	Unknown string `json:"unknown,omitempty"` // why nothing is known
}

// Stall is how much the tasks of a cgroup waited for one resource: percent of the last
// 10 seconds, as the kernel averages it.
type Stall struct {
	Some float64 `json:"someAvg10"` // percent of the time in which at least one task waited
	Full float64 `json:"fullAvg10"` // percent of the time in which all tasks waited
}
