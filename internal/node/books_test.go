package node

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// books returns what is wrong with what the node keeps of all its pods: byName, and
// that every active pod is booked with what it was granted.
func (n *Node) books() (wrong []string) {
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	booked := map[types.UID]*v1.Pod{}
	for _, p := range n.pods.accounted.Pods() {
		booked[p.UID] = p
		if n.pods.entries[p.UID] == nil {
			wrong = append(wrong, fmt.Sprintf("pod %s is booked and not there", p.UID))
		}
	}
	byName := map[string][]types.UID{}
	for uid, e := range n.pods.entries {
		name := e.FullName()
		byName[name] = append(byName[name], uid)
		if active := e.hasWorker() && e.IsDesired() && !n.pods.nothingRuns(e); active && booked[uid] != e.allocated() {
			wrong = append(wrong, fmt.Sprintf("pod %s is active and booked as %v", uid, booked[uid]))
		}
	}
	for _, names := range []map[string][]types.UID{byName, n.pods.byName} {
		for _, uids := range names {
			slices.Sort(uids)
		}
	}
	if !maps.EqualFunc(byName, n.pods.byName, slices.Equal) {
		wrong = append(wrong, fmt.Sprintf("pods by name %v, want %v", n.pods.byName, byName))
	}
	return wrong
}

// Whether a pod fits takes the same work beside any number of pods, and so does the
// release of its name.
func TestAdmissionCostDoesNotGrowWithPods(t *testing.T) {
	work := func(pods int) float64 {
		table := newPodTable(nil)
		table.workers = worker.New(worker.Options{})
		room := preemption{pods: table, allocatable: quantities("cpu", "64", "memory", "64Gi", "pods", "10000")}
		d := desire(t, requesting("1m", podYAML("new", "sleep 1")))[0]
		for i := range pods {
			other := *d.Pod
			other.Name, other.UID = fmt.Sprint("p", i), types.UID(fmt.Sprint("uid-", i))
			var w work
			table.install(other.UID, lifecycle.Entry{Desired: Desired{Pod: &other}, Phase: lifecycle.Active}, false, &w)
		}
		p := d.Pod
		return testing.AllocsPerRun(20, func() {
			if fits, err := room.fit(t.Context(), p); !fits || err != nil {
				t.Fatalf("fits %v, %v", fits, err)
			}
			if e, err := table.named(p.Namespace, p.Name); err == nil {
				t.Fatalf("there is a pod %s", pod.FullNameOf(e.Pod))
			}
		})
	}
	if few, many := work(10), work(1000); many > 2*few {
		t.Errorf("%v allocations beside 10 pods, %v beside 1000", few, many)
	}
}
