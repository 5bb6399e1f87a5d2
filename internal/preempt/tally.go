package preempt

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Tally is what the pods of a node hold together, added up as they come and go: so
// that whether another pod fits does not depend on how many there are. The zero value
// has no pod. It is not safe for concurrent use.
type Tally struct {
	shares map[types.UID]share
	load   load
	// ports counts the pods that have a host port, whatever the address.
	ports map[port]int
}

// share is what one pod holds.
type share struct {
	pod   *v1.Pod
	held  v1.ResourceList
	ports map[port]bool
}

// Set counts the pod, in place of what was counted of its UID.
func (t *Tally) Set(p *v1.Pod) {
	if t.shares[p.UID].pod == p {
		return
	}
	t.Drop(p.UID)
	s := share{pod: p, held: pod.Held(p)}
	eachHostPort(p, func(at port, _ string) {
		if s.ports == nil {
			s.ports = map[port]bool{}
		}
		s.ports[at] = true
	})
	if t.shares == nil {
		t.shares, t.ports = map[types.UID]share{}, map[port]int{}
	}
	t.shares[p.UID] = s
	t.load.add(s.held, 1)
	for at := range s.ports {
		t.ports[at]++
	}
}

// Drop counts the pod no longer.
func (t *Tally) Drop(uid types.UID) {
	s, counted := t.shares[uid]
	if !counted {
		return
	}
	delete(t.shares, uid)
	t.load.add(s.held, -1)
	for at := range s.ports {
		if t.ports[at]--; t.ports[at] == 0 {
			delete(t.ports, at)
		}
	}
}

// Pods returns the pods that are counted, in no order.
func (t *Tally) Pods() []*v1.Pod {
	pods := make([]*v1.Pod, 0, len(t.shares))
	for _, s := range t.shares {
		pods = append(pods, s.pod)
	}
	return pods
}

// Fits reports whether the pod fits on the node beside the others: Admit would admit
// it, and evict none. Where it does not, Admit says why, and what to do about it. Of
// two pods with one host port at different addresses neither fits beside the other
// here.
func (t *Tally) Fits(p *v1.Pod, node *v1.Node) bool {
	if Forbidden(p, node) != nil || t.portsTaken(p) {
		return false
	}
	checked, _ := withoutMissing(p, node.Status.Allocatable)
	for _, u := range usage(checked, node.Status.Allocatable, t.besides(p.UID)) {
		if u.Short() > 0 {
			return false
		}
	}
	failures, _ := constraints(p, node, nil)
	return len(failures) == 0
}

// besides is what the pods but one hold.
func (t *Tally) besides(uid types.UID) load {
	s, counted := t.shares[uid]
	if !counted {
		return t.load
	}
	others := load{pods: t.load.pods, used: maps.Clone(t.load.used)}
	others.add(s.held, -1)
	return others
}

// portsTaken reports whether another pod has a host port of the pod's.
func (t *Tally) portsTaken(p *v1.Pod) bool {
	taken := false
	own := t.shares[p.UID].ports
	eachHostPort(p, func(at port, _ string) {
		others := t.ports[at]
		if own[at] {
			others--
		}
		taken = taken || others > 0
	})
	return taken
}

// load is what some pods hold together.
type load struct {
	pods int64
	used map[v1.ResourceName]int64
}

// loadOf adds up what the pods hold.
func loadOf(pods []*v1.Pod) load {
	var l load
	for _, p := range pods {
		l.add(pod.Held(p), 1)
	}
	return l
}

// add adds what a pod holds, or with a sign of -1 takes it away.
func (l *load) add(held v1.ResourceList, sign int64) {
	l.pods += sign
	for name, q := range held {
		if l.used == nil {
			l.used = map[v1.ResourceName]int64{}
		}
		l.used[name] += sign * pod.Count(name, q)
	}
}
