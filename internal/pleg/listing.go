package pleg

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// listing is the newest sighting of every pod, for those outside the loop.
type listing struct {
	mu   sync.Mutex
	pods map[types.UID]*pod.Pod
}

// replace takes all records over.
func (l *listing) replace(records map[types.UID]*record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pods == nil {
		l.pods = make(map[types.UID]*pod.Pod, len(records))
	}
	clear(l.pods)
	for uid, rec := range records {
		if rec.seen != nil {
			l.pods[uid] = rec.seen
		}
	}
}

// put takes one record over.
func (l *listing) put(rec *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rec.seen == nil {
		delete(l.pods, rec.uid)
		return
	}
	if l.pods == nil {
		l.pods = map[types.UID]*pod.Pod{}
	}
	l.pods[rec.uid] = rec.seen
}

func (l *listing) sorted() []*pod.Pod {
	l.mu.Lock()
	pods := slices.Collect(maps.Values(l.pods))
	l.mu.Unlock()
	slices.SortFunc(pods, func(a, b *pod.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return pods
}
