package podsync

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/secret"
)

// memory is what a Syncer remembers of one pod. What mu and the Syncer's mutex do not
// guard is accessed by the pod's one operation at a time only.
type memory struct {
	crash Backoff
	pull  Backoff
	// pullError is why the last pull of an image failed, by its name.
	pullError map[string]string
	// waiting is why containers could not be started, by their name (reason
	// cache in pkg/kubelet/reason_cache.go). The pod's operation writes it with mu held.
	waiting map[string]Waiting
	// sandboxAttempt is the lowest attempt whose name is not known to be in use.
	sandboxAttempt uint32
	// sandboxFailure is why the pod's last sandbox could not be created, nil after one that was.
	sandboxFailure error
	// mountFailures is how often in a row the volumes could not be mounted.
	mountFailures int

	// actuated is what running containers were given, by name, and actuatedPod what
	// the pod as a whole was: nil before the first sync. resources are the same as the
	// status shows them.
	actuated    map[string]actuated
	actuatedPod *pod.Amounts
	resources   *v1.ResourceRequirements

	// telling is held while a status is computed and published.
	telling sync.Mutex
	// status is guarded by the Syncer's mutex; what it points to never changes.
	status *v1.PodStatus

	mu sync.Mutex
	// hooks are the containers whose preStop hook was begun, by id.
	hooks map[string]bool
	// requested are the runs of containers that are to be restarted on request, by id.
	requested map[string]bool
	// mask replaces the values of Secrets; nil without any.
	mask *secret.Mask
	// pending and progress are the conditions of a resize, nil without one.
	pending, progress *v1.PodCondition
	// start is how far the start of the pod is.
	start pod.Start
}

// BackOffs returns the back-offs of the pod's containers whose last start was put off,
// by name.
func (s *Syncer) BackOffs(uid types.UID) map[string]BackOff {
	s.mu.Lock()
	m := s.pods[uid]
	s.mu.Unlock()
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all map[string]BackOff
	for name, w := range m.waiting {
		if w.BackOff.RetryAt.IsZero() {
			continue
		}
		if all == nil {
			all = map[string]BackOff{}
		}
		all[name] = w.BackOff
	}
	return all
}

// actuated is what a run of a container was given.
type actuated struct {
	id      string
	amounts pod.Amounts
}

// remember returns the memory of a pod, and creates it for a new pod.
func (s *Syncer) remember(uid types.UID) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.pods[uid]
	if !ok {
		m = &memory{pullError: map[string]string{}, waiting: map[string]Waiting{}, hooks: map[string]bool{}, requested: map[string]bool{}, actuated: map[string]actuated{}}
		s.pods[uid] = m
	}
	return m
}

// beginHook reports whether the container's preStop hook has not been run yet,
// and records that it is run now.
func (m *memory) beginHook(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hooks[id] {
		return false
	}
	m.hooks[id] = true
	return true
}

// orEmpty returns st, or an empty status of the pod if st is nil.
func orEmpty(p *v1.Pod, st *pod.Status) *pod.Status {
	if st == nil {
		return &pod.Status{UID: p.UID, Name: p.Name, Namespace: p.Namespace}
	}
	return st
}
