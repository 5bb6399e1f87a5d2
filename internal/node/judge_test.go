package node

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

// judge checks the first five invariants at every call of a podctl that changes the runtime, by what
// the runtime has, and reports each that does not hold. Foreign pods are left out.
type judge struct {
	t   testing.TB
	w   *world
	sim *sim.Runtime

	mu sync.Mutex
	// stopped are the sandboxes that were stopped while they were ready, and while podctl could
	// record why: noRecords says that it cannot.
	stopped   map[string]bool
	noRecords bool
	// stops are the requests to stop what runs, by id of the container.
	stops map[string]*stopRequest
	// interrupted are the pods whose podctl was killed while it was to stop them: the next one
	// gives them what is left of their grace, also if the first request did not come through.
	interrupted map[types.UID]bool
	// calmSince is since when the runtime works; zero while it does not.
	calmSince time.Time
	// creating is how many calls are in flight that create or start something.
	creating int
	// asked is when each pod was asked for first, ran is which have had a sandbox.
	asked map[types.UID]time.Time
	ran   map[types.UID]bool
	// unknownUntil is until when podctl may take a container for unknown that runs: see mayBeTakenForUnknown.
	unknownUntil time.Time
}

// stopRequest is a request to stop a container.
type stopRequest struct {
	first time.Time // of its kind
	// failed: a call was not carried out, so its caller may use force.
	failed bool
}

func newJudge(w *world) *judge {
	return &judge{t: w.t, w: w, sim: w.sim, stopped: map[string]bool{}, stops: map[string]*stopRequest{}, interrupted: map[types.UID]bool{},
		asked: map[types.UID]time.Time{}, ran: map[types.UID]bool{}}
}

// Begin implements cri.CallWatcher.
func (j *judge) Begin(method, id string) (end func(error)) {
	if f, ok := j.w.foreignIDs.Load(id); ok && slices.Contains(changing, method) {
		violate(j.t, foreignUntouched, "%s of %s", method, f.(*foreignPod).name)
	}
	switch method {
	case "RunPodSandbox":
		return j.countCreating(func() { j.checkSandboxNames() })
	case "CreateContainer":
		return j.countCreating(func() {})
	case "StartContainer":
		j.checkStart(id)
		return j.countCreating(func() {})
	case "StopContainer":
		return j.checkStopContainer(id)
	case "RemoveContainer":
		j.checkForcedKill(method, j.container(id))
	case "StopPodSandbox", "RemovePodSandbox":
		j.checkStopSandbox(method, id)
	}
	return func(error) {}
}

// countCreating counts a call that creates or starts something while it is in flight.
func (j *judge) countCreating(then func()) (end func(error)) {
	count := func(n int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.creating += n
	}
	count(1)
	return func(error) {
		count(-1)
		then()
	}
}

// isCreating reports whether something is being created or started.
func (j *judge) isCreating() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.creating > 0
}

// setNoRecords sets whether podctl cannot write files.
func (j *judge) setNoRecords(full bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.noRecords = full
}

// setCalm sets whether the runtime works.
func (j *judge) setCalm(calm bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.calmSince = (time.Time{}); calm {
		j.calmSince = time.Now()
	}
}

func (j *judge) ownSandboxes() []*runtimeapi.PodSandbox {
	resp, err := j.sim.ListPodSandbox(j.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		j.t.Error(err)
	}
	return slices.DeleteFunc(resp.GetItems(), func(s *runtimeapi.PodSandbox) bool { return j.w.isForeign(s.Id) })
}

func (j *judge) containers() []*runtimeapi.Container {
	resp, err := j.sim.ListContainers(j.t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		j.t.Error(err)
	}
	return slices.DeleteFunc(resp.GetContainers(), func(c *runtimeapi.Container) bool { return j.w.isForeign(c.Id) })
}

// container is the one of this id, nil if there is none.
func (j *judge) container(id string) *runtimeapi.Container {
	all := j.containers()
	if i := slices.IndexFunc(all, func(c *runtimeapi.Container) bool { return c.Id == id }); i >= 0 {
		return all[i]
	}
	return nil
}

func describe(s *runtimeapi.PodSandbox) string {
	return fmt.Sprintf("%s uid %.8s attempt %d", s.Metadata.Name, s.Metadata.Uid, s.Metadata.Attempt)
}

func isReadySandbox(s *runtimeapi.PodSandbox) bool {
	return s.State == runtimeapi.PodSandboxState_SANDBOX_READY
}

func isRunning(c *runtimeapi.Container) bool {
	return c != nil && c.State == runtimeapi.ContainerState_CONTAINER_RUNNING
}

// checkSandboxNames checks that no two ready sandboxes have one name.
func (j *judge) checkSandboxNames() {
	names := map[string]*runtimeapi.PodSandbox{}
	for _, s := range j.ownSandboxes() {
		if !isReadySandbox(s) {
			continue
		}
		name := pod.FullName(s.Metadata.Name, s.Metadata.Namespace)
		j.checkWaited(s)
		if other := names[name]; other != nil {
			violate(j.t, oneLife, "two ready sandboxes of one name: %s and %s", describe(other), describe(s))
		}
		names[name] = s
	}
}

// checkStart checks that a container that is about to start runs nowhere else.
func (j *judge) checkStart(id string) {
	its := j.container(id)
	if its == nil {
		return
	}
	uid, name := its.Labels[pod.UIDLabel], its.Metadata.Name
	for _, s := range j.ownSandboxes() {
		j.mu.Lock()
		stopped := j.stopped[s.Id]
		j.mu.Unlock()
		if s.Labels[pod.UIDLabel] == uid && (stopped || isReadySandbox(s) && s.Id != its.PodSandboxId) {
			violate(j.t, oneLife, "%s starts beside the sandbox %s (stopped: %v)", name, describe(s), stopped)
		}
	}
	for _, c := range j.containers() {
		if c.Id == id || c.Labels[pod.UIDLabel] != uid || c.Metadata.Name != name {
			continue
		}
		if isRunning(c) {
			violate(j.t, oneLife, "%s of %s starts while its attempt %d runs", name, its.Labels[pod.NameLabel], c.Metadata.Attempt)
		}
		if name == once && c.State == runtimeapi.ContainerState_CONTAINER_EXITED && !j.mayBeTakenForUnknown() {
			violate(j.t, jobsRunOnce, "%s: a container that has ended starts again", its.Labels[pod.NameLabel])
		}
	}
}

// stopRequestOf returns the first request to stop a container, which is now if there was none.
// j.mu is held.
func (j *judge) stopRequestOf(id string) *stopRequest {
	if j.stops[id] == nil {
		j.stops[id] = &stopRequest{first: time.Now()}
	}
	return j.stops[id]
}

// noteInterrupted records that a podctl is killed while it stops the pod.
func (j *judge) noteInterrupted(uid types.UID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.interrupted[uid] = true
}

// noteKilled records that something else than podctl kills a container.
func (j *judge) noteKilled(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stopRequestOf(id).failed = true
}

// checkStopContainer checks that a container that is stopped exits within its grace period, and not
// before it if it does not exit by itself.
func (j *judge) checkStopContainer(id string) (end func(error)) {
	c := j.container(id)
	if !isRunning(c) {
		return func(error) {}
	}
	began := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	stop := j.stopRequestOf(id)
	first := stop.first
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		if stop.failed = stop.failed || err != nil; stop.failed {
			return
		}
		after, grace := time.Since(first), graceOf(c)
		// A sidecar has what the others leave of the pod's grace period.
		whole := c.Metadata.Name != sidecar && c.GetImage().GetUserSpecifiedImage() == stubborn && !j.interrupted[types.UID(c.Labels[pod.UIDLabel])]
		if whole && after < grace-hookTime {
			violate(j.t, graceKept, "%s of %s ends after %s, its grace period is %s", c.Metadata.Name, c.Labels[pod.NameLabel], after, grace)
		}
		if took := time.Since(began); took > grace && !j.calmSince.IsZero() && !began.Before(j.calmSince) {
			violate(j.t, graceKept, "%s of %s ends %s after it was asked to, its grace period is %s",
				c.Metadata.Name, c.Labels[pod.NameLabel], took, grace)
		}
	}
}

// checkStopSandbox checks that no container is killed with a sandbox that is stopped or removed.
func (j *judge) checkStopSandbox(method, id string) {
	for _, s := range j.ownSandboxes() {
		if s.Id == id && isReadySandbox(s) {
			j.mu.Lock()
			j.stopped[id] = !j.noRecords
			j.mu.Unlock()
		}
	}
	for _, c := range j.containers() {
		if c.PodSandboxId == id {
			j.checkForcedKill(method, c)
		}
	}
}

// checkForcedKill checks that a call does not kill a running container that was not stopped before.
func (j *judge) checkForcedKill(method string, c *runtimeapi.Container) {
	if !isRunning(c) {
		return
	}
	unknown := j.mayBeTakenForUnknown()
	j.mu.Lock()
	defer j.mu.Unlock()
	if stop := j.stops[c.Id]; !unknown && (stop == nil || !stop.failed) {
		violate(j.t, graceKept, "%s kills %s of %s, which was not stopped", method, c.Metadata.Name, c.Labels[pod.NameLabel])
	}
}

// hookTime is how long the preStop hooks of the pods take, with what is lost because
// grace periods are counted in whole seconds.
const hookTime = 2 * time.Second

// graceOf is the grace period that podctl notes at a container.
func graceOf(c *runtimeapi.Container) time.Duration {
	seconds, err := strconv.ParseInt(c.Annotations[pod.TerminationGraceAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(max(seconds, podsync.MinGrace)) * time.Second
}
