package pleg

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// listing is the newest observation of every pod, for readers outside the loop:
// the last full list, updated by relists of single pods.
type listing struct {
	mu    sync.Mutex
	full  []*pod.Pod
	seq   uint64 // the full list's
	since map[types.UID]newerListing
}

type newerListing struct {
	pod *pod.Pod // nil: absent
	seq uint64
}

// setAll sets the full list that began as number seq.
func (l *listing) setAll(pods []*pod.Pod, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full, l.seq = pods, seq
	maps.DeleteFunc(l.since, func(_ types.UID, s newerListing) bool { return s.seq < seq })
}

// setPod sets the listing of one pod, unless a full list has overtaken it.
func (l *listing) setPod(uid types.UID, p *pod.Pod, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < l.seq {
		return
	}
	if l.since == nil {
		l.since = map[types.UID]newerListing{}
	}
	l.since[uid] = newerListing{p, seq}
}

func (l *listing) sorted() []*pod.Pod {
	l.mu.Lock()
	var pods []*pod.Pod
	for _, p := range l.full {
		if _, newer := l.since[p.UID]; !newer {
			pods = append(pods, p)
		}
	}
	for _, s := range l.since {
		if s.pod != nil {
			pods = append(pods, s.pod)
		}
	}
	l.mu.Unlock()
	slices.SortFunc(pods, func(a, b *pod.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return pods
}
