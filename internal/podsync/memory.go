package podsync

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// memory is what a Syncer remembers of one pod. All but hooks and status is
// touched by the pod's one operation at a time only.
type memory struct {
	crash Backoff
	pull  Backoff
	// pullError is why the last pull of an image failed, by its name.
	pullError map[string]string
	// waiting is why containers could not be started, by their name (reason
	// cache in pkg/kubelet/reason_cache.go).
	waiting map[string]Waiting
	// sandboxAttempt is the lowest attempt whose name is not known to be taken.
	sandboxAttempt uint32
	// mountFailures is how often in a row the volumes could not be mounted.
	mountFailures int

	// telling is held while a status is computed and told.
	telling sync.Mutex
	// status is guarded by the Syncer's mutex; what it points to never changes.
	status *v1.PodStatus

	mu sync.Mutex
	// hooks are the containers whose preStop hook was begun, by id.
	hooks map[string]bool
}

// remember gives the memory of a pod, a fresh one for a new pod.
func (s *Syncer) remember(uid types.UID) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.pods[uid]
	if !ok {
		m = &memory{pullError: map[string]string{}, waiting: map[string]Waiting{}, hooks: map[string]bool{}}
		s.pods[uid] = m
	}
	return m
}

// beginHook tells whether the container's preStop hook is still to be run,
// and notes that it is.
func (m *memory) beginHook(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hooks[id] {
		return false
	}
	m.hooks[id] = true
	return true
}

// publish computes the pod's status, lets change alter it, keeps it, and tells.
func (s *Syncer) publish(p *v1.Pod, st *pod.Status, ended bool, change func(*v1.PodStatus)) v1.PodStatus {
	m := s.remember(p.UID)
	return s.tell(p, m, func(old *v1.PodStatus) v1.PodStatus {
		status := PodStatus(p, st, StatusInput{
			Old:         old,
			Waiting:     m.waiting,
			Probes:      s.opt.Host.Probes(p.UID),
			HostIPs:     s.opt.Node.IPs,
			RuntimeName: s.opt.RuntimeName,
			Ended:       ended,
			Now:         s.opt.Now(),
		})
		if change != nil {
			change(&status)
		}
		return status
	})
}

// Probed brings the pod's status in line with what its probes say now, whatever
// operation is running meanwhile. A pod without a status is left alone
// (SetContainerReadiness in pkg/kubelet/status/status_manager.go).
func (s *Syncer) Probed(p *v1.Pod) {
	s.mu.Lock()
	m := s.pods[p.UID]
	known := m != nil && m.status != nil
	s.mu.Unlock()
	if known {
		s.tell(p, m, func(old *v1.PodStatus) v1.PodStatus { return probed(p, old, s.opt.Host.Probes(p.UID), s.opt.Now()) })
	}
}

// tell makes the pod's next status of the last one. What is told of one pod is
// told in the order in which it was computed.
func (s *Syncer) tell(p *v1.Pod, m *memory, next func(old *v1.PodStatus) v1.PodStatus) v1.PodStatus {
	m.telling.Lock()
	defer m.telling.Unlock()
	s.mu.Lock()
	old := m.status
	s.mu.Unlock()
	status := next(old)
	s.mu.Lock()
	m.status = status.DeepCopy()
	s.mu.Unlock()
	s.opt.Host.Published(p, *status.DeepCopy())
	return status
}

// orEmpty is the status of a pod of which the runtime holds nothing, if st is
// nil.
func orEmpty(p *v1.Pod, st *pod.Status) *pod.Status {
	if st == nil {
		return &pod.Status{UID: p.UID, Name: p.Name, Namespace: p.Namespace}
	}
	return st
}
