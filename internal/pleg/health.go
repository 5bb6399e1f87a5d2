package pleg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// The operations of a Call.
const (
	opListPods  = "ListPods"
	opListPod   = "ListPod"
	opPodStatus = "PodStatus"
)

// Call is one call of the Runtime that has not been answered.
type Call struct {
	// Op is the method of Runtime: ListPods, ListPod, PodStatus.
	Op string
	// PodUID, Namespace and Name are the pod's; empty for ListPods, and the
	// names for a ListPod of a pod that was not listed yet.
	PodUID          types.UID
	Namespace, Name string
	// Since is when the call began. For a status or a full relist that is
	// retried after its deadline it is when the first try began.
	Since time.Time
}

func (c Call) String() string {
	switch {
	case c.PodUID == "":
		return c.Op
	case c.Name == "":
		return fmt.Sprintf("%s of %s", c.Op, c.PodUID)
	default:
		return fmt.Sprintf("%s of %s", c.Op, pod.DisplayName(c.Namespace, c.Name))
	}
}

// HintState is the state of the runtime's events.
type HintState struct {
	// Open: the stream is open, since Since. Else Err is why it is not:
	// errors.ErrUnsupported, or how it ended; nil before the first try.
	Open  bool
	Since time.Time
	Err   error
	// Proved: hints have replaced the period, as of the last full relist.
	Proved bool
}

// Health is what the PLEG is doing.
type Health struct {
	// LastRelist is when the last full relist began that the runtime answered;
	// zero before the first. LastErr is the error of the last one, if it failed.
	LastRelist time.Time
	LastErr    error
	// Threshold is the age from which LastRelist or a call is unhealthy.
	Threshold time.Duration
	// InFlight are the calls without an answer, oldest first.
	InFlight []Call
	Hints    HintState
}

// health collects a Health. It is safe for concurrent use.
type health struct {
	mu    sync.Mutex
	state Health
	calls map[*Call]struct{}
	hung  map[types.UID]Call
	// unlisted is when the first of the full relists began that have not been
	// answered in time since the last answer; zero if the last was answered.
	unlisted time.Time
}

func (h *health) init(o Options) {
	h.state.Threshold = o.Threshold
	h.calls = map[*Call]struct{}{}
	h.hung = map[types.UID]Call{}
}

// Health returns what the PLEG is doing now.
func (p *PLEG) Health() Health {
	h := &p.health
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.state
	for _, c := range h.hung {
		s.InFlight = append(s.InFlight, c)
	}
	if !h.unlisted.IsZero() {
		s.InFlight = append(s.InFlight, Call{Op: opListPods, Since: h.unlisted})
	}
	for c := range h.calls {
		switch _, hung := h.hung[c.PodUID]; {
		case hung && c.Op == opPodStatus, !h.unlisted.IsZero() && c.Op == opListPods: // counted from the first try
		default:
			s.InFlight = append(s.InFlight, *c)
		}
	}
	slices.SortFunc(s.InFlight, func(a, b Call) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.PodUID, b.PodUID))
	})
	return s
}

// Healthy returns nil, or why the PLEG is not healthy: no full relist has
// succeeded yet, the last one is older than the threshold
// (pkg/kubelet/pleg/generic.go), or a call is.
func (p *PLEG) Healthy() error { return p.Health().check(p.opts.Now()) }

func (h Health) check(now time.Time) error {
	var waits string
	age := time.Duration(0)
	if len(h.InFlight) > 0 {
		age = now.Sub(h.InFlight[0].Since)
		waits = fmt.Sprintf(", %s in flight for %v", h.InFlight[0], age.Round(time.Millisecond))
	}
	because := func(text string) error {
		if h.LastErr != nil {
			return fmt.Errorf("%s%s: %w", text, waits, h.LastErr)
		}
		return errors.New(text + waits)
	}
	last := now.Sub(h.LastRelist)
	switch {
	case h.LastRelist.IsZero():
		return because("no relist has succeeded yet")
	case last > h.Threshold:
		return because(fmt.Sprintf("last relist %v ago, threshold %v", last.Round(time.Millisecond), h.Threshold))
	case age > h.Threshold:
		return because(fmt.Sprintf("a call is older than the threshold of %v", h.Threshold))
	}
	return nil
}

// beginCall adds a call; the function that it returns removes it.
func (h *health) beginCall(c Call) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[&c] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.calls, &c)
	}
}

func (h *health) relisted(began time.Time, err error, proved bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.LastErr = err
	switch {
	case err == nil:
		h.state.LastRelist, h.unlisted = began, time.Time{}
	case !errors.Is(err, context.DeadlineExceeded):
		h.unlisted = time.Time{}
	case h.unlisted.IsZero():
		h.unlisted = began
	}
	h.state.Hints.Proved = proved
}

func (h *health) setHints(s HintState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Hints = s
}

// podHangs adds a pod whose status call hangs, until answers removes it.
func (h *health) podHangs(c Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hung[c.PodUID] = c
}

func (h *health) podAnswers(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.hung, uid)
}
