package node

import (
	"fmt"
	"sync"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/pod"
)

// judge looks into the runtime whenever a podctl has made a sandbox or is
// about to start a container, and reports what must never be:
//
//   - two live sandboxes of one full name
//   - a start in a sandbox that is not the only one of its pod that lives, or
//     of a UID one of whose sandboxes was stopped alive and not been removed
//   - a second start of a container that has ended and is to run once
//   - a call that changes what podctl did not create
//
// Names and UIDs of what podctl did not create count for nothing.
type judge struct {
	t     *testing.T
	sim   *sim.Runtime
	guard foreignGuard

	mu      sync.Mutex
	stopped map[string]bool // sandboxes
	wrong   bool
}

func newJudge(w *world) *judge {
	return &judge{t: w.t, sim: w.sim, guard: foreignGuard{w}, stopped: map[string]bool{}}
}

// Begin is told of every call, and its id.
func (j *judge) Begin(method, id string) (end func(error)) {
	j.guard.Begin(method, id)
	switch method {
	case "StopPodSandbox":
		j.stop(id)
	case "StartContainer":
		j.start(id)
	case "RunPodSandbox":
		return func(error) { j.sandboxes() }
	}
	return func(error) {}
}

func (j *judge) stop(id string) {
	for _, s := range j.list() {
		if s.Id == id && live(s) {
			j.mu.Lock()
			j.stopped[id] = true
			j.mu.Unlock()
		}
	}
}

func (j *judge) says(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.wrong {
		j.wrong = true
		j.t.Errorf(format, args...)
	}
}

func (j *judge) list() []*runtimeapi.PodSandbox {
	resp, err := j.sim.ListPodSandbox(j.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		j.t.Error(err)
	}
	return resp.GetItems()
}

func describe(s *runtimeapi.PodSandbox) string {
	return fmt.Sprintf("%s uid %.8s attempt %d", s.Metadata.Name, s.Metadata.Uid, s.Metadata.Attempt)
}

func live(s *runtimeapi.PodSandbox) bool {
	return s.State == runtimeapi.PodSandboxState_SANDBOX_READY
}

func (j *judge) sandboxes() {
	names := map[string]*runtimeapi.PodSandbox{}
	for _, s := range j.list() {
		if !live(s) || j.guard.w.isForeign(s.Id) {
			continue
		}
		name := pod.FullName(s.Metadata.Name, s.Metadata.Namespace)
		if other := names[name]; other != nil {
			j.says("two live sandboxes of one name: %s and %s", describe(other), describe(s))
		}
		names[name] = s
	}
}

func (j *judge) start(id string) {
	resp, err := j.sim.ListContainers(j.t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		j.t.Error(err)
		return
	}
	var its *runtimeapi.Container
	for _, c := range resp.Containers {
		if c.Id == id {
			its = c
		}
	}
	if its == nil {
		return
	}
	uid := its.Labels[pod.UIDLabel]
	for _, s := range j.list() {
		if j.guard.w.isForeign(s.Id) {
			continue
		}
		j.mu.Lock()
		stopped := j.stopped[s.Id]
		j.mu.Unlock()
		if s.Labels[pod.UIDLabel] == uid && (stopped || live(s) && s.Id != its.PodSandboxId) {
			j.says("%s starts beside the sandbox %s (stopped: %v)", its.Metadata.Name, describe(s), stopped)
		}
	}
	for _, c := range resp.Containers {
		if its.Metadata.Name == "once" && c.Id != id && c.Labels[pod.UIDLabel] == uid &&
			!j.guard.w.isForeign(c.Id) && c.State == runtimeapi.ContainerState_CONTAINER_EXITED {
			j.says("pod %s: a container that has ended starts again", its.Labels["io.kubernetes.pod.name"])
		}
	}
}
