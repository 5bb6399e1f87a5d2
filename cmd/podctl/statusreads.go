package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// statusReads is a runtime that notes how the reading of each pod's status
// went.
type statusReads struct {
	pleg.Runtime
	now func() time.Time

	mu    sync.Mutex
	reads map[types.UID]statusRead
}

// statusRead is how it went: took is the slowest time that was not an error,
// err that of the last time.
type statusRead struct {
	took time.Duration
	err  error
}

// PodStatus reads a pod's status.
func (s *statusReads) PodStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error) {
	began := s.now()
	st, err := s.Runtime.PodStatus(ctx, p)
	took := s.now().Sub(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads == nil {
		s.reads = map[types.UID]statusRead{}
	}
	r := s.reads[p.UID]
	if r.err = err; err == nil {
		r.took = max(r.took, took)
	}
	s.reads[p.UID] = r
	return st, err
}

func (s *statusReads) has(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.reads[uid]
	return ok
}

// count is how many of the pods have been read.
func (s *statusReads) count(pods []*pod.Pod) int {
	n := 0
	for _, p := range pods {
		if s.has(p.UID) {
			n++
		}
	}
	return n
}

// errors are those of the pods that could not be read.
func (s *statusReads) errors(pods []*pod.Pod) []checkError {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []checkError
	for _, p := range pods {
		if err := s.reads[p.UID].err; err != nil {
			found = append(found, checkError{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Message: err.Error()})
		}
	}
	return found
}

// slowest are the n pods whose statuses took longest, each with the slowest
// call that it was made of.
func (s *statusReads) slowest(pods []*pod.Pod, calls *cri.Calls, n int) []checkSlow {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []checkSlow
	for _, p := range pods {
		r, ok := s.reads[p.UID]
		if !ok || r.took == 0 && r.err != nil {
			continue
		}
		slow := checkSlow{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Seconds: r.took.Seconds()}
		for id, container := range p.IDs() {
			if call := calls.SlowestOf(id); slow.Call == "" || call.Took.Seconds() > slow.CallSeconds {
				slow.Call, slow.Container, slow.ID, slow.CallSeconds = call.Method, container, id, call.Took.Seconds()
			}
		}
		found = append(found, slow)
	}
	slices.SortFunc(found, func(a, b checkSlow) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found[:min(n, len(found))]
}
