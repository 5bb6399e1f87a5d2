package oracle

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// plegCase is one random history: a step per relist.
type plegCase struct {
	Case  int        `json:"case"`
	Steps []plegStep `json:"steps"`
}

type plegStep struct {
	Reinspect []types.UID  `json:"reinspect"`
	ListErr   bool         `json:"listErr"`
	Pods      []plegPod    `json:"pods"`
	Events    []plegEvent  `json:"events"`
	Cache     []plegCached `json:"cache"`
}

type plegPod struct {
	UID        types.UID       `json:"uid"`
	Sandboxes  []plegContainer `json:"sandboxes"`
	Containers []plegContainer `json:"containers"`
	IPs        []string        `json:"ips"`
	StatusErr  bool            `json:"statusErr"`
}

type plegContainer struct{ ID, State string }

type plegEvent struct {
	UID  types.UID      `json:"uid"`
	Type pleg.EventType `json:"type"`
	ID   string         `json:"id"`
}

type plegCached struct {
	UID types.UID `json:"uid"`
	IPs []string  `json:"ips"`
	Err bool      `json:"err"`
}

// TestPLEG shows each history to a running PLEG, a full relist for every step,
// and compares its events and its cache with the kubelet's.
func TestPLEG(t *testing.T) {
	f, err := os.Open(filepath.Join(oracleDir(t, "pleg"), "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	cases := 0
	for lines.Scan() {
		var c plegCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", cases+1, err)
		}
		cases++
		t.Run(fmt.Sprint(c.Case), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { replayPLEG(t, c) })
		})
	}
	if err := lines.Err(); err != nil || cases == 0 {
		t.Fatalf("%d cases read: %v", cases, err)
	}
}

func replayPLEG(t *testing.T, c plegCase) {
	rt := &plegRuntime{}
	p := pleg.New(rt, pleg.Options{})
	sub := p.Subscribe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	everSeen := map[types.UID]bool{}
	for i, step := range c.Steps {
		for _, uid := range step.Reinspect {
			p.RequestReinspect(uid)
		}
		for _, p := range step.Pods {
			everSeen[p.UID] = true
		}
		rt.show(step)
		if i == 0 {
			go func() { _ = p.Run(ctx) }()
		} else {
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if diff := gocmp.Diff(byPod(step.Events), byPod(eventsOf(sub))); diff != "" {
			t.Errorf("step %d: events: the kubelet's are -, ours are +\n%s", i, diff)
		}
		if diff := gocmp.Diff(step.Cache, cacheOf(p, everSeen)); diff != "" {
			t.Errorf("step %d: cache: the kubelet's is -, ours is +\n%s", i, diff)
		}
		if n := rt.relists(); n != i+1 {
			t.Fatalf("step %d: %d relists", i, n)
		}
	}
}

// byPod puts pods in order, and leaves the events of one pod in theirs.
func byPod(events []plegEvent) []plegEvent {
	events = append([]plegEvent{}, events...)
	slices.SortStableFunc(events, func(a, b plegEvent) int { return cmp.Compare(a.UID, b.UID) })
	return events
}

func eventsOf(sub *pleg.Subscription) []plegEvent {
	var events []plegEvent
	for _, e := range sub.Take() {
		events = append(events, plegEvent{UID: e.PodUID, Type: e.Type, ID: e.ID})
	}
	return events
}

// cacheOf is the cache's answer for every pod that was ever listed. A pod that
// it does not know has a status with no sandbox and no container.
func cacheOf(p *pleg.PLEG, uids map[types.UID]bool) []plegCached {
	known := []plegCached{}
	for uid := range uids {
		st, err := p.Get(uid)
		switch {
		case err != nil:
			known = append(known, plegCached{UID: uid, Err: true})
		case len(st.Sandboxes)+len(st.Containers) > 0:
			known = append(known, plegCached{UID: uid, IPs: st.IPs})
		}
	}
	slices.SortFunc(known, func(a, b plegCached) int { return cmp.Compare(a.UID, b.UID) })
	return known
}

// plegRuntime answers with one step of a history.
type plegRuntime struct {
	mu    sync.Mutex
	step  plegStep
	lists int
}

func (r *plegRuntime) show(s plegStep) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = s
}

func (r *plegRuntime) relists() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lists
}

func (r *plegRuntime) ListPods(context.Context) ([]*pod.Pod, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lists++
	if r.step.ListErr {
		return nil, errors.New("list fails")
	}
	var pods []*pod.Pod
	for _, p := range r.step.Pods {
		listed := &pod.Pod{UID: p.UID, Name: string(p.UID), Namespace: "default"}
		for _, s := range p.Sandboxes {
			listed.Sandboxes = append(listed.Sandboxes, &pod.Sandbox{ID: s.ID, State: plegState(s.State)})
		}
		for _, c := range p.Containers {
			listed.Containers = append(listed.Containers, &pod.Container{ID: c.ID, Name: c.ID, State: plegState(c.State)})
		}
		pods = append(pods, listed)
	}
	return pods, nil
}

func (r *plegRuntime) ListPod(context.Context, types.UID) (*pod.Pod, error) {
	return nil, errors.New("the histories have full relists only")
}

func (r *plegRuntime) PodStatus(_ context.Context, p *pod.Pod) (*pod.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.step.Pods, func(s plegPod) bool { return s.UID == p.UID })
	if i < 0 || r.step.Pods[i].StatusErr {
		return nil, errors.New("status fails")
	}
	st := &pod.Status{UID: p.UID, IPs: r.step.Pods[i].IPs}
	for _, s := range p.Sandboxes {
		st.Sandboxes = append(st.Sandboxes, &pod.SandboxStatus{ID: s.ID, State: s.State})
	}
	for _, c := range p.Containers {
		st.Containers = append(st.Containers, &pod.ContainerStatus{ID: c.ID, State: c.State})
	}
	return st, nil
}

func (r *plegRuntime) Notices(context.Context, func(), func(pod.Notice)) error {
	return errors.ErrUnsupported
}

func plegState(s string) pod.State {
	switch s {
	case "created":
		return pod.Created
	case "running":
		return pod.Running
	case "exited":
		return pod.Exited
	default:
		return pod.Unknown
	}
}
