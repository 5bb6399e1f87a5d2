package tape

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// memory is what the tape has said so far of every pod, and the runtime that
// the replayed PLEG asks: it answers with what the tape says next, if that is
// set, else with what it said last.
type memory struct {
	next *answer

	full     []*pod.Pod // of the last ListPods
	listed   bool
	since    map[types.UID]*pod.Pod // of ListPod since then; nil: absent
	statuses map[types.UID]*pod.Status
}

// answer is what a call returns.
type answer struct {
	pods   []*pod.Pod
	status *pod.Status
	err    error
}

func newMemory() *memory {
	return &memory{since: map[types.UID]*pod.Pod{}, statuses: map[types.UID]*pod.Status{}}
}

// learn takes an answer of the tape in.
func (m *memory) learn(op string, uid types.UID, e entry) *answer {
	if e.Error != "" {
		return &answer{err: errors.New(e.Error)}
	}
	a := &answer{}
	switch op {
	case opList:
		if a.pods = m.full; !e.Same {
			a.pods = toPods(e.Pods)
		}
		m.full, m.listed = a.pods, true
		clear(m.since)
		maps.DeleteFunc(m.statuses, func(uid types.UID, _ *pod.Status) bool { return m.pod(uid) == nil })
	case opPod:
		a.pods = toPods(e.Pods)
		m.since[uid] = one(a.pods)
	case opStatus:
		a.status = e.Status.status()
		m.statuses[uid] = a.status
	}
	return a
}

func one(pods []*pod.Pod) *pod.Pod {
	if len(pods) == 0 {
		return nil
	}
	return pods[0]
}

func (m *memory) pod(uid types.UID) *pod.Pod {
	if p, ok := m.since[uid]; ok {
		return p
	}
	if i := slices.IndexFunc(m.full, func(p *pod.Pod) bool { return p.UID == uid }); i >= 0 {
		return m.full[i]
	}
	return nil
}

var _ pleg.Runtime = (*memory)(nil)

var errNotRecorded = errors.New("the recording does not say")

// ListPods answers with the whole list.
func (m *memory) ListPods(context.Context) ([]*pod.Pod, error) {
	switch {
	case m.next != nil:
		return m.next.pods, m.next.err
	case !m.listed:
		return nil, errNotRecorded
	}
	var pods []*pod.Pod
	for _, p := range m.full {
		if _, newer := m.since[p.UID]; !newer {
			pods = append(pods, p)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(m.since)) {
		if p := m.since[uid]; p != nil {
			pods = append(pods, p)
		}
	}
	return pods, nil
}

// ListPod answers with one pod.
func (m *memory) ListPod(_ context.Context, uid types.UID) (*pod.Pod, error) {
	switch {
	case m.next != nil:
		return one(m.next.pods), m.next.err
	case !m.listed:
		return nil, errNotRecorded
	}
	return m.pod(uid), nil
}

// PodStatus answers with the pod's status.
func (m *memory) PodStatus(_ context.Context, p *pod.Pod) (*pod.Status, error) {
	if m.next != nil {
		return m.next.status, m.next.err
	}
	if st := m.statuses[p.UID]; st != nil {
		return st, nil
	}
	return nil, errNotRecorded
}

// Hints is not asked for: a replay says what the stream says.
func (m *memory) Hints(context.Context, func(), func(pod.Hint)) error { return errors.ErrUnsupported }
