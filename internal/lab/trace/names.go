package trace

import (
	"sync"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Target is what a call is about. The zero value is the whole runtime.
type Target struct {
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// SandboxID and ContainerID are as the call has them, or its answer.
	SandboxID   string `json:"sandboxID,omitempty"`
	ContainerID string `json:"containerID,omitempty"`
	Image       string `json:"image,omitempty"`
}

// String returns the name: NAMESPACE/POD[/CONTAINER], else a short id or an image, "" for
// the whole runtime.
func (t Target) String() string {
	switch {
	case t.Pod != "" && t.Container != "":
		return t.Namespace + "/" + t.Pod + "/" + t.Container
	case t.Pod != "" && t.ContainerID != "":
		return t.Namespace + "/" + t.Pod + "/" + pod.ShortID(t.ContainerID)
	case t.Pod != "":
		return t.Namespace + "/" + t.Pod
	case t.ContainerID != "":
		return pod.ShortID(t.ContainerID)
	case t.SandboxID != "":
		return pod.ShortID(t.SandboxID)
	}
	return t.Image
}

// maxNames bounds the names that are remembered: ids of what is removed stay known.
const maxNames = 200_000

// Names are the pods and containers of ids. The zero value knows none; it is safe for
// concurrent use.
type Names struct {
	mu         sync.Mutex // guards the fields below
	sandboxes  map[string]Target
	containers map[string]Target
}

// LearnPods adds the pods of a runtime.
func (n *Names) LearnPods(pods []*pod.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range pods {
		for _, s := range p.Sandboxes {
			n.sandbox(s.ID, p.Namespace, p.Name)
		}
		for _, c := range p.Containers {
			n.sandbox(c.SandboxID, p.Namespace, p.Name)
			n.container(c.ID, c.SandboxID, c.Name)
		}
	}
}

func (n *Names) sandbox(id, namespace, name string) {
	if id == "" || name == "" {
		return
	}
	if n.sandboxes == nil || len(n.sandboxes) >= maxNames {
		n.sandboxes = map[string]Target{}
	}
	n.sandboxes[id] = Target{Namespace: namespace, Pod: name, SandboxID: id}
}

// container adds a container of a sandbox, which may become known later.
func (n *Names) container(id, sandboxID, name string) {
	if id == "" {
		return
	}
	if n.containers == nil || len(n.containers) >= maxNames {
		n.containers = map[string]Target{}
	}
	n.containers[id] = Target{SandboxID: sandboxID, Container: name, ContainerID: id}
}

// Learn adds what a call and its answer say; either may be nil.
func (n *Names) Learn(request, response proto.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch r := response.(type) {
	case *runtimeapi.RunPodSandboxResponse:
		if q, ok := request.(*runtimeapi.RunPodSandboxRequest); ok {
			n.sandbox(r.GetPodSandboxId(), q.GetConfig().GetMetadata().GetNamespace(), q.GetConfig().GetMetadata().GetName())
		}
	case *runtimeapi.CreateContainerResponse:
		if q, ok := request.(*runtimeapi.CreateContainerRequest); ok {
			meta := q.GetSandboxConfig().GetMetadata()
			n.sandbox(q.GetPodSandboxId(), meta.GetNamespace(), meta.GetName())
			n.container(r.GetContainerId(), q.GetPodSandboxId(), q.GetConfig().GetMetadata().GetName())
		}
	case *runtimeapi.ListPodSandboxResponse:
		n.learnSandboxes(r.GetItems())
	case *runtimeapi.StreamPodSandboxesResponse:
		n.learnSandboxes(r.GetPodSandboxes())
	case *runtimeapi.ListContainersResponse:
		n.learnContainers(r.GetContainers())
	case *runtimeapi.StreamContainersResponse:
		n.learnContainers(r.GetContainers())
	case *runtimeapi.PodSandboxStatusResponse:
		n.sandbox(r.GetStatus().GetId(), r.GetStatus().GetMetadata().GetNamespace(), r.GetStatus().GetMetadata().GetName())
	case *runtimeapi.ContainerEventResponse:
		s := r.GetPodSandboxStatus()
		n.sandbox(s.GetId(), s.GetMetadata().GetNamespace(), s.GetMetadata().GetName())
		for _, c := range r.GetContainersStatuses() {
			n.container(c.GetId(), s.GetId(), c.GetMetadata().GetName())
		}
	}
}

func (n *Names) learnSandboxes(all []*runtimeapi.PodSandbox) {
	for _, s := range all {
		n.sandbox(s.GetId(), s.GetMetadata().GetNamespace(), s.GetMetadata().GetName())
	}
}

func (n *Names) learnContainers(all []*runtimeapi.Container) {
	for _, c := range all {
		n.container(c.GetId(), c.GetPodSandboxId(), c.GetMetadata().GetName())
	}
}

// Target returns what a call is about; either message may be nil.
func (n *Names) Target(request, response proto.Message) Target {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch q := request.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		meta := q.GetConfig().GetMetadata()
		t := Target{Namespace: meta.GetNamespace(), Pod: meta.GetName()}
		if r, ok := response.(*runtimeapi.RunPodSandboxResponse); ok {
			t.SandboxID = r.GetPodSandboxId()
		}
		return t
	case *runtimeapi.CreateContainerRequest:
		t := n.sandboxTarget(q.GetPodSandboxId())
		if meta := q.GetSandboxConfig().GetMetadata(); t.Pod == "" {
			t.Namespace, t.Pod = meta.GetNamespace(), meta.GetName()
		}
		t.Container = q.GetConfig().GetMetadata().GetName()
		if r, ok := response.(*runtimeapi.CreateContainerResponse); ok {
			t.ContainerID = r.GetContainerId()
		}
		return t
	case *runtimeapi.ListContainersRequest:
		return n.targetByID(q.GetFilter().GetId(), q.GetFilter().GetPodSandboxId())
	case *runtimeapi.ListPodSandboxRequest:
		return n.targetByID("", q.GetFilter().GetId())
	}
	if q, ok := request.(interface{ GetContainerId() string }); ok && q.GetContainerId() != "" {
		return n.targetByID(q.GetContainerId(), "")
	}
	if q, ok := request.(interface{ GetPodSandboxId() string }); ok {
		return n.targetByID("", q.GetPodSandboxId())
	}
	if q, ok := request.(interface{ GetImage() *runtimeapi.ImageSpec }); ok {
		return Target{Image: q.GetImage().GetImage()}
	}
	return Target{}
}

func (n *Names) targetByID(containerID, sandboxID string) Target {
	if containerID == "" {
		return n.sandboxTarget(sandboxID)
	}
	c, ok := n.containers[containerID]
	if !ok {
		return Target{ContainerID: containerID, SandboxID: sandboxID}
	}
	t := n.sandboxTarget(c.SandboxID)
	t.Container, t.ContainerID = c.Container, containerID
	return t
}

func (n *Names) sandboxTarget(id string) Target {
	if t, ok := n.sandboxes[id]; ok {
		return t
	}
	return Target{SandboxID: id}
}
