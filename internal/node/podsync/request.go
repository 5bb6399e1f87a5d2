package podsync

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// A requested restart is no crash: it neither waits for the crash back-off nor counts in
// it, while the container's attempt and restart count rise as with any other restart. A
// container that waits for its back-off starts at once; if it crashes again, the back-off
// goes on where it was. A request is for one run of a container, by its id, so that two
// requests restart it once. It ends with the process: a container that was stopped by
// then restarts by its restart policy.

// RestartRequest is a request to restart a container in place.
type RestartRequest struct {
	Pod *v1.Pod
	// Status is the pod's, as its owner shows it.
	Status    *v1.PodStatus
	Container string
	// ID is the run that is meant, as the runtime lists it: one that the status does not
	// show yet runs. "" is that of the status.
	ID string
	// ByKubelet: a kubelet starts the container again, by its own rules; else podctl does.
	ByKubelet bool
	// Force: also a container that starts again only with some exit codes.
	Force bool
}

// Check returns why the container must not be restarted, nil if it may be. Pure.
func (r RestartRequest) Check() error {
	c, kind := r.container()
	if err := r.checkKind(kind); err != nil {
		return err
	}
	if r.Pod.DeletionTimestamp != nil {
		return hint.Errorf("podctl terminating "+r.podName(), "its pod is terminating")
	}
	s := findIn(r.Status, r.Container)
	state, text := restartState(c, &r.Pod.Spec, s)
	if r.ID != "" && r.ID != r.Run() {
		state = isRunning
	}
	switch {
	case state == notStarted:
		return hint.Errorf("podctl describe "+r.podName(), "it is not running: %s", text)
	case state == endedForGood:
		return hint.Errorf(r.again(), "it %s, and %s does not start it again", text, policyText(c, &r.Pod.Spec))
	case state == waitsToRestart && r.ByKubelet:
		return hint.Errorf("podctl describe "+r.podName(), "it %s, and its kubelet starts it again when its back-off ends", text)
	case state == waitsToRestart:
		return nil
	}
	switch outcomeOfStop(c, &r.Pod.Spec) {
	case neverRestarts:
		return hint.Errorf(r.again(), "%s does not start it again", policyText(c, &r.Pod.Spec))
	case restartsByExitCode:
		if !r.Force {
			return hint.Errorf("--force restarts it nevertheless", "%s starts it again with some exit codes only", policyText(c, &r.Pod.Spec))
		}
	case alwaysRestarts:
	}
	return nil
}

// Run returns the id of the container's newest run that the status shows, "" if it shows
// none.
func (r RestartRequest) Run() string {
	s := findIn(r.Status, r.Container)
	if s == nil {
		return ""
	}
	_, id, _ := strings.Cut(s.ContainerID, "://")
	return id
}

// Restartable are the names of the containers that a request for the whole pod means:
// those that run or wait to restart, without those that run once.
func Restartable(p *v1.Pod, s *v1.PodStatus) []string {
	var names []string
	for c := range pod.Containers(p) {
		state, _ := restartState(c, &p.Spec, findIn(s, c.Name))
		if HasRestarts(p, c.Name) && (state == isRunning || state == waitsToRestart) {
			names = append(names, c.Name)
		}
	}
	return names
}

// HasRestarts reports whether a container is of a kind that restarts: a regular one or a
// sidecar.
func HasRestarts(p *v1.Pod, container string) bool {
	_, kind := RestartRequest{Pod: p, Container: container}.container()
	return kind == regularContainer || kind == sidecarContainer
}

// containerKind is the kind of a container of a pod.
type containerKind uint8

const (
	regularContainer containerKind = iota
	sidecarContainer
	initContainer
	ephemeralContainer
	unknownContainer
)

func (r RestartRequest) container() (*v1.Container, containerKind) {
	named := func(c v1.Container) bool { return c.Name == r.Container }
	if i := slices.IndexFunc(r.Pod.Spec.Containers, named); i >= 0 {
		return &r.Pod.Spec.Containers[i], regularContainer
	}
	if i := slices.IndexFunc(r.Pod.Spec.InitContainers, named); i >= 0 {
		c := &r.Pod.Spec.InitContainers[i]
		if pod.IsSidecar(c) {
			return c, sidecarContainer
		}
		return c, initContainer
	}
	if slices.ContainsFunc(r.Pod.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool { return c.Name == r.Container }) {
		return nil, ephemeralContainer
	}
	return nil, unknownContainer
}

func (r RestartRequest) checkKind(kind containerKind) error {
	switch kind {
	case initContainer:
		return errors.New("it is an init container: it runs once, before the others")
	case ephemeralContainer:
		return errors.New("it is an ephemeral container: nothing starts it again")
	case unknownContainer:
		return errors.New("the pod's spec has no such container")
	case regularContainer, sidecarContainer:
	}
	return nil
}

// containerState is the state of a container as a request sees it.
type containerState uint8

const (
	// notStarted: it has no run that could be restarted.
	notStarted containerState = iota
	isRunning
	// waitsToRestart: it has exited and starts again, now or after its back-off.
	waitsToRestart
	// endedForGood: it has exited and does not start again.
	endedForGood
)

// restartState returns the state of a container by its status, and the text of one that
// does not run.
func restartState(c *v1.Container, spec *v1.PodSpec, s *v1.ContainerStatus) (state containerState, text string) {
	switch {
	case s == nil:
		return notStarted, "it was not created yet"
	case s.State.Running != nil:
		return isRunning, ""
	case s.State.Terminated != nil:
		text = fmt.Sprintf("exited with code %d", s.State.Terminated.ExitCode)
		if restartsAfter(c, spec, s.State.Terminated.ExitCode) {
			return waitsToRestart, text
		}
		return endedForGood, text
	case s.State.Waiting != nil && s.State.Waiting.Reason == reasonCrashLoop:
		return waitsToRestart, "waits in " + reasonCrashLoop
	case s.State.Waiting != nil && s.State.Waiting.Reason != "":
		return notStarted, s.State.Waiting.Reason
	}
	return notStarted, "its state is not known"
}

// stopOutcome is whether a container that is stopped starts again.
type stopOutcome uint8

const (
	// alwaysRestarts: whatever its exit code.
	alwaysRestarts stopOutcome = iota
	// restartsByExitCode: it depends on its exit code.
	restartsByExitCode
	neverRestarts
)

// maxExitCode is the highest exit code of a process.
const maxExitCode = 255

// outcomeOfStop returns whether a container starts again by its restart rules and policy,
// with an exit code that is not known yet.
func outcomeOfStop(c *v1.Container, spec *v1.PodSpec) stopOutcome {
	restarts := 0
	for code := range int32(maxExitCode + 1) {
		if restartsAfter(c, spec, code) {
			restarts++
		}
	}
	switch restarts {
	case 0:
		return neverRestarts
	case maxExitCode + 1:
		return alwaysRestarts
	}
	return restartsByExitCode
}

// policyText names what decides whether the container restarts.
func policyText(c *v1.Container, spec *v1.PodSpec) string {
	switch {
	case c.RestartPolicy == nil:
		return fmt.Sprintf("restartPolicy %s", spec.RestartPolicy)
	case len(c.RestartPolicyRules) == 0:
		return fmt.Sprintf("its own restartPolicy %s", *c.RestartPolicy)
	}
	return fmt.Sprintf("its own restartPolicy %s with its rules", *c.RestartPolicy)
}

func (r RestartRequest) podName() string { return pod.DisplayName(r.Pod.Namespace, r.Pod.Name) }

// again is the hint how a container that does not start again is run again.
func (r RestartRequest) again() string {
	if r.ByKubelet {
		return "its pod runs it again only as another pod: replace it at its source"
	}
	return "podctl stop " + r.podName() + " and podctl start " + r.podName() + " run the whole pod again"
}

// RequestRestart has the next sync of the pod restart runs of containers, by their ids.
func (s *Syncer) RequestRestart(uid types.UID, runs []string) {
	m := s.remember(uid)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range runs {
		m.requested[id] = true
	}
}

// requestedRuns returns the runs that are to be restarted on request, and forgets those
// that are not the newest of their containers any more.
func (m *memory) requestedRuns(st *pod.Status) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	runs := map[string]bool{}
	for id := range m.requested {
		if cs := st.ContainerByID(id); cs != nil && st.Container(cs.Name) == cs {
			runs[id] = true
			continue
		}
		delete(m.requested, id)
	}
	return runs
}

// requestMessage is the beginning of the event of a container that is killed on request.
func requestMessage(c *v1.Container) string {
	return fmt.Sprintf("Container %s restart requested", c.Name)
}
