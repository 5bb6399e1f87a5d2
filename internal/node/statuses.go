package node

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// statuses reads the pods' statuses in the runtime, and publishes those that podsync
// makes of them.
type statuses struct {
	pods     *podTable
	pleg     *pleg.PLEG
	events   *eventSender
	observer Observer
}

// touch records that an operation may have changed what the runtime holds of the pod.
func (s *statuses) touch(uid types.UID) {
	s.pods.mu.Lock()
	defer s.pods.mu.Unlock()
	if e := s.pods.get(uid); e != nil {
		e.touched = time.Now()
	}
}

// read waits for a status of the pod that shows what was done to it last. A pod to which
// nothing was done is new: the listing before its start showed that the runtime holds
// nothing of it.
func (s *statuses) read(ctx context.Context, uid types.UID) (*pod.Status, error) {
	s.pods.mu.Lock()
	var touched time.Time
	if e := s.pods.get(uid); e != nil {
		touched = e.touched
	}
	s.pods.mu.Unlock()
	if touched.IsZero() {
		return &pod.Status{UID: uid, At: time.Now()}, nil
	}
	return s.pleg.GetNewerThan(ctx, uid, touched)
}

// publish makes a status the pod's and reports what has changed.
func (s *statuses) publish(p *v1.Pod, after v1.PodStatus) {
	s.pods.mu.Lock()
	e := s.pods.get(p.UID)
	if e == nil || after.Phase == "" {
		s.pods.mu.Unlock()
		return
	}
	events := changes(&e.status, &after)
	before := e.status.Phase
	e.status = after
	s.pods.accountResources(p.UID)
	s.pods.mu.Unlock()
	if before != after.Phase {
		s.observer.StatusChanged(p, before, after.Phase)
	}
	for _, ev := range events {
		s.events.send(p, ev)
	}
	s.pods.watchers.notifyChanged()
}
