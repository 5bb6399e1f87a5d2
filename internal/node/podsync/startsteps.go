package podsync

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Start returns how far the start of the pod is.
func (s *Syncer) Start(uid types.UID) pod.Start {
	s.mu.Lock()
	m := s.pods[uid]
	s.mu.Unlock()
	if m == nil {
		return pod.Start{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.start
}

// beginStart records that the start of the pod begins, if it gets a sandbox.
func (r *run) beginStart() {
	if r.plan.CreateSandbox {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		r.m.start.Begin(r.opt.Now())
	}
}

// enter records that a step of the start begins, until leave is called.
func (r *run) enter(step pod.StartStep, container, image string) (leave func()) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.start.Enter(step, container, image, r.opt.Now())
	return func() {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		r.m.start.Leave(r.opt.Now())
	}
}

// endStart records that the containers of the plan were started, if these are not only
// init containers.
func (r *run) endStart() {
	if len(r.plan.Containers) > 0 {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		r.m.start.End(r.opt.Now())
	}
}
