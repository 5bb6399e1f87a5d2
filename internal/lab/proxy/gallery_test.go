package proxy

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/rules"
)

// streamed are the containers of a streamed list, by state, and how many sandboxes it has.
func (w *world) streamed() (containers map[runtimeapi.ContainerState]int, sandboxes int) {
	w.Helper()
	c, err := w.cri.StreamContainers(w.Context(), &runtimeapi.StreamContainersRequest{})
	containers = map[runtimeapi.ContainerState]int{}
	for err == nil {
		var some *runtimeapi.StreamContainersResponse
		some, err = c.Recv()
		for _, one := range some.GetContainers() {
			containers[one.GetState()]++
		}
	}
	if !errors.Is(err, io.EOF) {
		w.Fatal(err)
	}
	s, err := w.cri.StreamPodSandboxes(w.Context(), &runtimeapi.StreamPodSandboxesRequest{})
	for err == nil {
		var some *runtimeapi.StreamPodSandboxesResponse
		some, err = s.Recv()
		sandboxes += len(some.GetPodSandboxes())
	}
	if !errors.Is(err, io.EOF) {
		w.Fatal(err)
	}
	return containers, sandboxes
}

// gallery is what each file has to do.
var gallery = map[string]func(w *world){
	"stop-hangs": func(w *world) {
		id := w.running()
		for range 3 {
			w.wants(w.stop(id), codes.DeadlineExceeded)
		}
		if s := w.status(id).GetState(); s != runtimeapi.ContainerState_CONTAINER_RUNNING {
			w.Error(s)
		}
	},
	"stale-list": func(w *world) {
		n := len(w.sandboxes())
		if _, err := w.cri.RunPodSandbox(w.Context(), sandbox("new")); err != nil {
			w.Fatal(err)
		}
		stale := len(w.sandboxes())
		time.Sleep(6 * time.Second)
		if fresh := len(w.sandboxes()); stale != n || fresh != n+1 {
			w.Errorf("%d, at once %d, later %d", n, stale, fresh)
		}
	},
	"two-sandboxes": func(w *world) {
		pods := map[string]int{}
		for _, s := range w.sandboxes() {
			if s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY {
				pods[s.GetMetadata().GetUid()]++
			}
		}
		if len(pods) != 2 {
			w.Error(pods)
		}
		for _, n := range pods {
			if n != 2 {
				w.Error(pods)
			}
		}
		if _, n := w.streamed(); n != len(w.sandboxes()) {
			w.Errorf("%d streamed", n)
		}
	},
	"unknown": func(w *world) {
		n := 0
		for _, c := range w.containers() {
			if c.GetState() == runtimeapi.ContainerState_CONTAINER_UNKNOWN {
				n++
			}
			if c.GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING || w.status(c.GetId()).GetState() != c.GetState() {
				w.Error(c)
			}
		}
		if streamed, _ := w.streamed(); n == 0 || streamed[runtimeapi.ContainerState_CONTAINER_UNKNOWN] != n {
			w.Errorf("%d are unknown, streamed %v", n, streamed)
		}
	},
	"no-events": func(w *world) {
		s, err := w.cri.GetContainerEvents(w.Context(), &runtimeapi.GetEventsRequest{})
		if err == nil {
			_, err = s.Recv()
		}
		if !errors.Is(err, io.EOF) {
			w.Error(err)
		}
	},
	"pleg-not-healthy": func(w *world) {
		id, began := w.running(), time.Now()
		_, err := w.cri.ContainerStatus(w.within(2*time.Minute), &runtimeapi.ContainerStatusRequest{ContainerId: id})
		w.wants(err, codes.DeadlineExceeded)
		if took := time.Since(began); took != 2*time.Minute {
			w.Error(took)
		}
	},
	"oom-exit-0": func(w *world) {
		id := w.running()
		if s := w.status(id); s.GetReason() != "" {
			w.Error(s)
		}
		if err := w.stop(id); err != nil {
			w.Fatal(err)
		}
		if s := w.status(id); s.GetExitCode() != 0 || s.GetReason() != "OOMKilled" {
			w.Error(s)
		}
	},
	"restart": func(w *world) {
		n := len(w.sandboxes())
		_, err := w.cri.RunPodSandbox(w.Context(), sandbox("new"))
		w.wants(err, codes.Unavailable)
		if now := len(w.sandboxes()); now != n+1 {
			w.Errorf("%d sandboxes, then %d", n, now)
		}
		if _, err := w.cri.RunPodSandbox(w.Context(), sandbox("other")); err != nil {
			w.Error(err)
		}
	},
	"many-containers": func(w *world) {
		ids := map[string]bool{}
		for _, c := range w.containers() {
			ids[c.GetId()] = true
		}
		streamed, _ := w.streamed()
		n := 0
		for _, some := range streamed {
			n += some
		}
		if len(ids) != 11000 || n != 11000 {
			w.Errorf("%d, streamed %d", len(ids), n)
		}
	},
}

func TestGallery(t *testing.T) {
	entries, err := os.ReadDir("../../../examples/faults")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()[:len(e.Name())-len(".yaml")]
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("../../../examples/faults/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			all, err := rules.ParseFile(e.Name(), text)
			if err != nil {
				t.Fatal(err)
			}
			if gallery[name] == nil {
				t.Fatal("no test")
			}
			inWorld(t, all, gallery[name])
		})
	}
}
