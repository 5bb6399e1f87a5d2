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

// Slowest returns the n pods whose statuses took longest to read.
func (s *StatusReads) Slowest(pods []*pod.Pod, n int) []CheckSlow {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []CheckSlow
	for _, p := range pods {
		r, ok := s.reads[p.UID]
		if !ok || r.took == 0 && r.err != nil {
			continue
		}
		found = append(found, CheckSlow{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Seconds: r.took.Seconds()})
	}
	slices.SortFunc(found, func(a, b CheckSlow) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found[:min(n, len(found))]
}

// CheckWait is a call that has not been answered.
type CheckWait struct {
	// CRI method, or the PLEG's operation while none of its CRI calls is in flight
	Call      string    `json:"call"`
	Namespace string    `json:"namespace,omitempty"` // of the pod, if the call is about one
	Name      string    `json:"name,omitempty"`      // of the pod
	UID       string    `json:"uid,omitempty"`       // of the pod
	Container string    `json:"container,omitempty"` // container name, if the call is about one
	ID        string    `json:"id,omitempty"`        // of the container or sandbox
	Since     time.Time `json:"since"`               // when the call began
	Seconds   float64   `json:"seconds"`             // time in flight
}

// SameAs reports whether two values are the same wait observed twice.
func (w CheckWait) SameAs(o CheckWait) bool { return w.UID == o.UID && w.Since.Equal(o.Since) }

// Explain returns what a call of the PLEG waits for, in terms of the CRI calls in
// flight. pods are those listed last.
func Explain(calls *cri.Calls, c pleg.Call, pods []*pod.Pod, now time.Time) CheckWait {
	w := CheckWait{
		Call: c.Op, UID: string(c.PodUID), Namespace: c.Namespace, Name: c.Name,
		Since: c.Since, Seconds: now.Sub(c.Since).Seconds(),
	}
	if c.Op != "PodStatus" {
		list := calls.Oldest(func(in cri.CallInFlight) bool { return in.Method == "ListPodSandbox" || in.Method == "ListContainers" })
		if list != nil {
			w.Call = list.Method
		}
		return w
	}
	names := map[string]string{}
	for _, p := range pods {
		if p.UID == c.PodUID {
			names = p.IDs()
		}
	}
	about := calls.Oldest(func(in cri.CallInFlight) bool { _, found := names[in.ID]; return found })
	if about != nil {
		w.Call, w.ID, w.Container = about.Method, about.ID, names[about.ID]
	}
	return w
}
