package plegstat

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

// StatusReads is a runtime that records how reading each pod's status went.
type StatusReads struct {
	pleg.Runtime
	Now func() time.Time

	mu    sync.Mutex
	reads map[types.UID]statusRead
}

// statusRead has the longest time of the reads that succeeded, and the error of
// the last read.
type statusRead struct {
	took time.Duration
	err  error
}

// PodStatus reads a pod's status.
func (s *StatusReads) PodStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error) {
	began := s.Now()
	st, err := s.Runtime.PodStatus(ctx, p)
	took := s.Now().Sub(began)
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

// Count returns how many of the pods have been read.
func (s *StatusReads) Count(pods []*pod.Pod) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range pods {
		if _, ok := s.reads[p.UID]; ok {
			n++
		}
	}
	return n
}

// Errors returns the pods that could not be read.
func (s *StatusReads) Errors(pods []*pod.Pod) []CheckError {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []CheckError
	for _, p := range pods {
		if err := s.reads[p.UID].err; err != nil {
			found = append(found, CheckError{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Message: err.Error()})
		}
	}
	return found
}

// Slowest returns the n pods whose statuses took longest to read, each with the
// slowest CRI call of the read.
func (s *StatusReads) Slowest(pods []*pod.Pod, calls *cri.Calls, n int) []CheckSlow {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []CheckSlow
	for _, p := range pods {
		r, ok := s.reads[p.UID]
		if !ok || r.took == 0 && r.err != nil {
			continue
		}
		slow := CheckSlow{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Seconds: r.took.Seconds()}
		for id, container := range p.IDs() {
			if call := calls.SlowestOf(id); slow.Call == "" || call.Took.Seconds() > slow.CallSeconds {
				slow.Call, slow.Container, slow.ID, slow.CallSeconds = call.Method, container, id, call.Took.Seconds()
			}
		}
		found = append(found, slow)
	}
	slices.SortFunc(found, func(a, b CheckSlow) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found[:min(n, len(found))]
}
