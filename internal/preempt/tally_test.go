package preempt

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods come, change and go; after each step Fits answers as Admit does, which adds
// all of them up.
func TestTallyAnswersAsAdmitDoes(t *testing.T) {
	fit, not := 0, 0
	for seed := range uint64(400) {
		d := newDice(seed)
		var tally Tally
		there := map[types.UID]*v1.Pod{}
		node := machine(pick(d, "cpu=2 memory=1Gi pods=6", "cpu=8 memory=4Gi ephemeral-storage=4Gi pods=50 example.com/gpu=3", "cpu=1 pods=3"))
		for step := range 40 {
			p := d.pod(d.IntN(12))
			if d.in(20) {
				hostPort(p, "", int32(80+d.IntN(3)), pick(d, "", v1.ProtocolUDP))
			}
			want := Admit(p, node, slices.Collect(maps.Values(there)))
			fits := want.Admitted && len(want.Plan.Victims) == 0
			if got := tally.Fits(p, node); got != fits {
				t.Fatalf("seed %d, step %d: fits %v, Admit %v: %+v", seed, step, got, fits, want)
			}
			if fits {
				fit++
			} else {
				not++
			}
			if d.in(60) {
				tally.Set(p)
				there[p.UID] = p
			} else {
				tally.Drop(p.UID)
				delete(there, p.UID)
			}
			if got := tally.Pods(); len(got) != len(there) {
				t.Fatalf("seed %d, step %d: %d pods, want %d", seed, step, len(got), len(there))
			}
		}
	}
	if fit < 1000 || not < 1000 {
		t.Errorf("%d fit, %d did not: the cases say little", fit, not)
	}
}

// Two pods may have one host port at two addresses: Admit is asked.
func TestTallyLeavesAddressesOfPortsToAdmit(t *testing.T) {
	var tally Tally
	tally.Set(hostPort(app("a", ""), "10.0.0.1", 80, ""))
	p, node := hostPort(app("b", ""), "10.0.0.2", 80, ""), machine("pods=9")
	if tally.Fits(p, node) || !Admit(p, node, tally.Pods()).Admitted {
		t.Error("it fits without Admit, or not at all")
	}
}

// A pod is counted once by its UID, whatever is said of it.
func TestTallyCountsAPodOnce(t *testing.T) {
	var tally Tally
	node := machine("cpu=2 pods=9")
	web := app("web", "cpu=1")
	tally.Set(web)
	tally.Set(web)
	tally.Set(app("web", "cpu=1500m"))
	tally.Drop("uid-other")
	if !tally.Fits(app("a", "cpu=500m"), node) || tally.Fits(app("a", "cpu=501m"), node) || !tally.Fits(app("web", "cpu=2"), node) {
		t.Errorf("load %+v", tally.load)
	}
	tally.Drop("uid-web")
	if !tally.Fits(app("a", "cpu=2"), node) || len(tally.Pods()) != 0 {
		t.Errorf("load %+v of no pod", tally.load)
	}
}

// What it takes to see that a pod fits does not grow with the pods that are there.
func TestTallyDoesTheSameWorkForAnyNumberOfPods(t *testing.T) {
	work := func(pods int) float64 {
		var tally Tally
		for i := range pods {
			tally.Set(app(fmt.Sprint("p", i), "cpu=1m memory=1Mi"))
		}
		p, node := app("new", "cpu=100m memory=1Mi"), machine("cpu=64 memory=64Gi pods=10000")
		return testing.AllocsPerRun(20, func() {
			if !tally.Fits(p, node) {
				t.Fatal("it does not fit")
			}
		})
	}
	if few, many := work(10), work(2000); many != few {
		t.Errorf("%v allocations beside 10 pods, %v beside 2000", few, many)
	}
}
