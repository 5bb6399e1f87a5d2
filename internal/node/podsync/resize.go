package podsync

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Resize is a running container that gets other resources in place.
type Resize struct {
	Container *v1.Container
	ID        string
	// Have is what it was given, Want what its pod was granted.
	Have, Want pod.Amounts
}

func (p Plan) resizes() bool { return p.ResizePod || len(p.Memory)+len(p.CPU) > 0 }

// resize plans what a running container needs to have what it was granted. One
// whose policy is to restart for it is killed instead; the caller starts it again
// (computePodResizeAction in pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func (p *Plan) resize(v *v1.Pod, c *v1.Container, last *pod.ContainerStatus, in ActionInput) (kill Kill, restart bool) {
	have, known := in.Actuated[c.Name]
	want := pod.AmountsOf(v, c)
	if !known || have == want {
		return Kill{}, false
	}
	memory := have.MemoryLimit != want.MemoryLimit || have.MemoryRequest != want.MemoryRequest
	cpu := have.CPULimit != want.CPULimit || have.CPURequest != want.CPURequest
	if memory && restartsFor(c, v1.ResourceMemory) || cpu && restartsFor(c, v1.ResourceCPU) {
		p.ResizePod = true
		return Kill{ID: last.ID, Name: c.Name, Message: fmt.Sprintf("Container %s resize requires restart", c.Name)}, true
	}
	r := Resize{Container: c, ID: last.ID, Have: have, Want: want}
	if memory {
		p.Memory = ordered(p.Memory, r, grows(have.MemoryLimit, want.MemoryLimit, have.MemoryRequest, want.MemoryRequest))
	}
	if cpu {
		p.CPU = ordered(p.CPU, r, grows(have.CPULimit, want.CPULimit, have.CPURequest, want.CPURequest))
	}
	return Kill{}, false
}

// startsResized reports whether a regular container starts with other resources than
// its last run was given (startingResizedContainer in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func (p *Plan) startsResized(v *v1.Pod, in ActionInput) bool {
	return slices.ContainsFunc(p.Containers, func(s Start) bool {
		given, known := in.Actuated[s.Container.Name]
		return known && given != pod.AmountsOf(v, s.Container)
	})
}

// podAmounts returns what the pod as a whole asks for.
func podAmounts(p *v1.Pod) *pod.Amounts {
	if p.Spec.Resources == nil {
		return &pod.Amounts{}
	}
	a := pod.AmountsOf(&v1.Pod{}, &v1.Container{Resources: *p.Spec.Resources})
	return &a
}

// restartsFor reports whether the container restarts to get more or less of a
// resource.
func restartsFor(c *v1.Container, name v1.ResourceName) bool {
	i := slices.IndexFunc(c.ResizePolicy, func(p v1.ContainerResizePolicy) bool { return p.ResourceName == name })
	return i >= 0 && c.ResizePolicy[i].RestartPolicy == v1.RestartContainer
}

// grows reports whether a container gets more: by its limit, or by its request
// where the limit stays.
func grows(limit, newLimit, request, newRequest int64) bool {
	if limit != newLimit {
		return newLimit > limit
	}
	return newRequest > request
}

// ordered adds a resize: what shrinks comes first.
func ordered(list []Resize, r Resize, grows bool) []Resize {
	if grows {
		return append(list, r)
	}
	return slices.Insert(list, 0, r)
}
