package pleg

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// listing is the newest sighting of every pod, for those outside the loop:
// the last full list, and what relists of single pods have said since.
type listing struct {
	mu    sync.Mutex
	full  []*pod.Pod
	seq   uint64 // the full list's
	since map[types.UID]sighted
}

type sighted struct {
	pod *pod.Pod // nil: absent
	seq uint64
}

// replace takes a full list over that began as number seq.
func (l *listing) replace(pods []*pod.Pod, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full, l.seq = pods, seq
	maps.DeleteFunc(l.since, func(_ types.UID, s sighted) bool { return s.seq < seq })
}

// put takes the list of one pod over, unless a full one has overtaken it.
func (l *listing) put(uid types.UID, p *pod.Pod, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < l.seq {
		return
	}
	if l.since == nil {
		l.since = map[types.UID]sighted{}
	}
	l.since[uid] = sighted{p, seq}
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
