package pleg

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podctl/podctl/internal/pod"
)

// act is one thing that happens in a random history, after a pause.
type act struct {
	Pause  time.Duration
	Kind   string
	UID    types.UID
	Pick   int
	Hinted string        // how the event of a change is told
	Delay  time.Duration // of a late hint, or of a call
	Back   time.Duration // how far back GetNewerThan looks
}

func drawHistory(t *rapid.T) []act {
	millis := func(max int) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.IntRange(0, max), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
	}
	one := rapid.Custom(func(t *rapid.T) act {
		return act{
			Pause: rapid.OneOf(millis(0), millis(20), millis(3000)).Draw(t, "pause"),
			Kind: rapid.SampledFrom([]string{
				"change", "change", "change", "change", "change", "get", "get", "get", "reinspect", "relist",
				"slow list", "slow pod", "slow status", "fail list", "fail status", "heal", "break", "stranger",
			}).Draw(t, "kind"),
			UID:    rapid.SampledFrom([]types.UID{"u1", "u2", "u3"}).Draw(t, "uid"),
			Pick:   rapid.IntRange(0, 5).Draw(t, "pick"),
			Hinted: rapid.SampledFrom([]string{"at once", "at once", "at once", "twice", "late", "lost", "nameless", "wrong"}).Draw(t, "hinted"),
			Delay:  rapid.OneOf(millis(50), millis(15000)).Draw(t, "delay"),
			Back:   rapid.OneOf(millis(0), millis(2000)).Draw(t, "back"),
		}
	})
	return rapid.SliceOfN(one, 1, 60).Draw(t, "history")
}

// version is what the runtime held of everything at some time.
type version struct {
	at   time.Time
	pods map[types.UID]*pod.Pod
}

// history plays acts against a world and remembers all that was true.
type history struct {
	*world
	p        *PLEG
	versions []version
	ids      int
	errs     []error
}

func (h *history) errorf(format string, args ...any) {
	h.errs = append(h.errs, fmt.Errorf(format, args...))
}

func (h *history) remember() {
	v := version{at: time.Now(), pods: map[types.UID]*pod.Pod{}}
	for uid, p := range h.pods {
		v.pods[uid] = copyOf(p)
	}
	h.versions = append(h.versions, v)
}

// change moves one pod a step on, as runtimes do: ids are new, states go
// forward. It returns the id that it is about.
func (h *history) change(uid types.UID, pick int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.remember()
	h.ids++
	p := h.pods[uid]
	if p == nil {
		p = &pod.Pod{UID: uid, Name: string(uid), Namespace: "default"}
		h.pods[uid] = p
	}
	switch {
	case len(p.Sandboxes) == 0 || p.Sandboxes[0].State == pod.Exited && pick == 0:
		id := fmt.Sprint("s", h.ids)
		p.Sandboxes = append([]*pod.Sandbox{{ID: id, State: pod.Running}}, p.Sandboxes...)
		return id
	case pick == 1:
		p.Sandboxes[0].State = pod.Exited
		return p.Sandboxes[0].ID
	case pick == 2 && h.ids%3 == 0:
		delete(h.pods, uid)
		return p.Sandboxes[0].ID
	case pick == 3 && len(p.Containers) > 0:
		last := p.Containers[len(p.Containers)-1]
		p.Containers = p.Containers[:len(p.Containers)-1]
		return last.ID
	case pick >= 4 && len(p.Containers) > 0 && p.Containers[0].State != pod.Exited:
		p.Containers[0].State++
		return p.Containers[0].ID
	default:
		id := fmt.Sprint("c", h.ids)
		p.Containers = append([]*pod.Container{{ID: id, Name: "c", State: pod.Created}}, p.Containers...)
		return id
	}
}

// tell lets the runtime tell of a change, in one of the ways in which it can.
func (h *history) tell(a act, id string) {
	switch a.Hinted {
	case "at once":
		h.hint(id, a.UID)
	case "twice":
		h.hint(id, a.UID)
		h.hint(id, a.UID)
	case "nameless":
		h.hint(id, "")
	case "wrong":
		h.hint(id, "u1")
	case "late":
		go func() {
			time.Sleep(a.Delay)
			h.hint(id, a.UID)
		}()
	}
}

func (h *history) play(t *testing.T, a act) {
	switch a.Kind {
	case "change":
		h.tell(a, h.change(a.UID, a.Pick))
	case "get":
		go h.get(t.Context(), a.UID, a.Back)
	case "reinspect":
		h.p.RequestReinspect(a.UID)
	case "relist":
		h.p.requestRelist(a.UID)
	case "slow list":
		h.takes("ListPods", a.Delay/10)
	case "slow pod":
		h.takes("ListPod "+string(a.UID), a.Delay/10)
	case "slow status":
		h.takes("PodStatus "+string(a.UID), a.Delay)
	case "fail list":
		h.answers("ListPods", errors.New("no"))
		h.answers("ListPod "+string(a.UID), errors.New("no"))
	case "fail status":
		h.answers("PodStatus "+string(a.UID), errors.New("no"))
	case "heal":
		h.heal()
	case "break":
		h.mu.Lock()
		s := h.stream
		h.mu.Unlock()
		select {
		case s.end <- errors.New("reset"):
		default:
		}
	case "stranger":
		h.hint("stranger", "")
	}
}

func (h *history) heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.delay)
	clear(h.fail)
}

// get asks for a status, and judges it by all that was true between the time
// that it asked for and the answer.
func (h *history) get(ctx context.Context, uid types.UID, back time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	asked := time.Now()
	h.mu.Lock()
	first := len(h.versions) - 1 // the last that had come to be by the time asked for
	for first > 0 && h.versions[first].at.After(asked.Add(-back)) {
		first--
	}
	h.mu.Unlock()
	st, err := h.p.GetNewerThan(ctx, uid, asked.Add(-back))
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		return
	}
	told := map[string]pod.State{}
	for _, c := range st.Containers {
		told[c.ID] = c.State
	}
	for _, s := range st.Sandboxes {
		told[s.ID] = s.State
	}
	possible, always := map[string]bool{}, map[string]int{}
	for _, v := range h.versions[first:] {
		for id, s := range statesOf(v.pods[uid]) {
			possible[fmt.Sprint(id, s)] = true
			always[id]++
		}
	}
	for id, s := range told {
		if !possible[fmt.Sprint(id, s)] {
			h.errorf("%s newer than %v, answered %v: %s %v was not so since", uid, asked.Add(-back), time.Now(), id, s)
		}
	}
	for id, n := range always {
		if _, ok := told[id]; !ok && n == len(h.versions)-first {
			h.errorf("%s newer than %v, answered %v: %s is missing", uid, asked.Add(-back), time.Now(), id)
		}
	}
}

func statesOf(p *pod.Pod) map[string]pod.State {
	m := map[string]pod.State{}
	if p != nil {
		for _, c := range p.Containers {
			m[c.ID] = c.State
		}
		for _, s := range p.Sandboxes {
			m[s.ID] = s.State
		}
	}
	return m
}
