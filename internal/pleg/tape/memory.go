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

// lastAnswers keeps the tape's last answer about every pod. It is the runtime of the
// replayed PLEG: it returns next if that is set, else the last answer.
type lastAnswers struct {
	next *answer

	// Each answer is a new value, as from a runtime: the PLEG may distinguish two
	// listings that are equal.
	full     []podLine // of the last ListPods
	listed   bool
	since    map[types.UID]*podLine // of ListPod since then; nil: absent
	statuses map[types.UID]*pod.Status
}

// answer is what a call returns.
type answer struct {
	pods   []*pod.Pod
	status *pod.Status
	err    error
}

func newLastAnswers() *lastAnswers {
	return &lastAnswers{since: map[types.UID]*podLine{}, statuses: map[types.UID]*pod.Status{}}
}

// store stores an answer of the tape.
func (m *lastAnswers) store(op string, uid types.UID, e entry) *answer {
	if e.Error != "" {
		return &answer{err: errors.New(e.Error)}
	}
	a := &answer{}
	switch op {
	case opList:
		m.listed = true
		clear(m.since)
		if !e.Same {
			m.full = e.Pods
			maps.DeleteFunc(m.statuses, func(uid types.UID, _ *pod.Status) bool { return m.podLine(uid) == nil })
		}
		a.pods = toPods(m.full)
	case opPod:
		a.pods = toPods(e.Pods)
		m.since[uid] = nil
		if len(e.Pods) > 0 {
			m.since[uid] = &e.Pods[0]
		}
	case opStatus:
		a.status = e.Status.status()
		m.statuses[uid] = a.status
	}
	return a
}

func firstOf(pods []*pod.Pod) *pod.Pod {
	if len(pods) == 0 {
		return nil
	}
	return pods[0]
}

// podLine returns the tape's last answer about a pod, nil if the pod is absent.
func (m *lastAnswers) podLine(uid types.UID) *podLine {
	if l, ok := m.since[uid]; ok {
		return l
	}
	if i := slices.IndexFunc(m.full, func(l podLine) bool { return l.UID == uid }); i >= 0 {
		return &m.full[i]
	}
	return nil
}

var _ pleg.Runtime = (*lastAnswers)(nil)

var errNotRecorded = errors.New("the recording does not say")

// ListPods answers with the whole list.
func (m *lastAnswers) ListPods(context.Context) ([]*pod.Pod, error) {
	switch {
	case m.next != nil:
		return m.next.pods, m.next.err
	case !m.listed:
		return nil, errNotRecorded
	}
	var pods []*pod.Pod
	for _, l := range m.full {
		if _, newer := m.since[l.UID]; !newer {
			pods = append(pods, l.pod())
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(m.since)) {
		if l := m.since[uid]; l != nil {
			pods = append(pods, l.pod())
		}
	}
	return pods, nil
}

// ListPod answers with one pod.
func (m *lastAnswers) ListPod(_ context.Context, uid types.UID) (*pod.Pod, error) {
	switch {
	case m.next != nil:
		return firstOf(m.next.pods), m.next.err
	case !m.listed:
		return nil, errNotRecorded
	}
	if l := m.podLine(uid); l != nil {
		return l.pod(), nil
	}
	return nil, nil
}

// PodStatus answers with the pod's status.
func (m *lastAnswers) PodStatus(_ context.Context, p *pod.Pod) (*pod.Status, error) {
	if m.next != nil {
		return m.next.status, m.next.err
	}
	if st := m.statuses[p.UID]; st != nil {
		return st, nil
	}
	return nil, errNotRecorded
}

// Hints is not called: the replay delivers the events.
func (m *lastAnswers) Hints(context.Context, func(), func(pod.Hint)) error {
	return errors.ErrUnsupported
}
