package e2e

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/leak"
	orphanpods "github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/testkit/testutil"
)

// leakFault is a row of the gallery of leaks: what a pod left that is gone, and what `podctl
// orphans` has to say about it.
type leakFault struct {
	pod  string // its name
	what string // what is left, and how, for the page
	// class is leaked, and kind that of the thing that is asked for; or directory, and "".
	class orphanpods.Class
	kind  leak.Kind
	// evidence is a regular expression of a piece of WHY, alone are the only kinds that the leak has.
	evidence string
	alone    []leak.Kind
	// unnamed: nothing tells the name of the pod any more.
	unnamed bool
	// make makes the pod, and returns what is done while the runtime is dead, which then has lost its
	// records of all pods; nil if nothing is.
	make func(g *leakGallery, name string) (meanwhile func())
	// without is why a runtime cannot have it, by kind.
	without map[string]string
}

// leakFaults are all of them.
var leakFaults = []leakFault{
	{
		pod: "left-shim", what: "shim: the runtime is killed and loses its records", class: orphanpods.Leaked, kind: leak.Shim, evidence: `shim|conmon`,
		make: loses(nil),
	},
	{
		pod: "left-netns", what: "network namespace: the same, and the processes of the pod are killed", class: orphanpods.Leaked, kind: leak.NetworkNamespace, evidence: `network namespace`,
		make: loses((*leakGallery).killsProcesses),
	},
	{
		pod: "left-address", what: "address: the same as by a reboot, which ends network namespaces, too", class: orphanpods.Leaked, kind: leak.Lease, evidence: `address 10\.`,
		make: loses(func(g *leakGallery, sandbox, container string) {
			g.killsProcesses(sandbox, container)
			g.endsNetwork(sandbox)
		}),
		without: map[string]string{live.CRIO: "CRI-O removes what the CNI cache names when it starts"},
	},
	{
		pod: "left-half", what: "address: the runtime is killed while a CNI plugin works, which goes on", class: orphanpods.Leaked, kind: leak.Lease, evidence: `address 10\.`,
		make:    (*leakGallery).killedInNetwork,
		unnamed: true,
	},
	{
		pod: "left-mount", what: "mount below a pod directory: podctl is killed, and another client removes the pod", class: orphanpods.Directory, evidence: `volumes/kubernetes.io~empty-dir/data`,
		make: (*leakGallery).abandons,
	},
	{
		pod: "left-cgroup", what: "cgroup: the same", class: orphanpods.Leaked, kind: leak.Cgroup, evidence: `cgroup pod`, alone: []leak.Kind{leak.Cgroup},
		make: (*leakGallery).abandons,
	},
}

// leakGallery is a column of it: pods of a runtime that left something.
type leakGallery struct {
	planter
	rt      *live.Instance
	finder  *orphanpods.Finder
	network *live.Network
	// answers are by pod, with the class as their layer, and the kind as their step.
	answers map[string]*galleryAnswer
	// sandboxes are those of the pods, by pod, as far as they are known.
	sandboxes map[string]string
}

// TestGalleryOfLeaks makes every leak on each runtime. Ten minutes later `podctl orphans` names
// each of them, and --kill removes them all, and nothing else.
func TestGalleryOfLeaks(t *testing.T) {
	for _, kind := range live.Kinds() {
		if kind == live.Containerd || kind == live.CRIO {
			t.Run(kind, func(t *testing.T) {
				g := newLeakGallery(t, kind)
				g.open()
				keep(t, "leaks on "+kind, g.answers)
			})
		}
	}
}

func newLeakGallery(t *testing.T, kind string) *leakGallery {
	rt := live.Runtime(t, kind, live.Private())
	p := makePlace(t, rt)
	leaks := leakFinder(t, rt)
	paths := host.Below(p.dir).ForRuntime(rt.Endpoint)
	return &leakGallery{
		planter: p.planter(), rt: rt, network: rt.FaultyNetwork(t), answers: map[string]*galleryAnswer{}, sandboxes: map[string]string{},
		finder: &orphanpods.Finder{
			Asker:  owners.Asker{Locks: paths.Locks, Procs: proc.Default},
			Client: leaks.Client, Logs: paths.Logs, Root: paths.Root, Leaks: leaks,
		},
	}
}

func (g *leakGallery) open() {
	t := g.p.t
	made := slices.DeleteFunc(slices.Clone(leakFaults), func(f leakFault) bool { return f.without[g.rt.Kind] != "" })
	before := g.rt.Traces()
	var meanwhile []func()
	for _, f := range made {
		g.answers[f.pod] = &galleryAnswer{Layer: "-"}
		if do := f.make(g, f.pod); do != nil {
			meanwhile = append(meanwhile, do)
		}
	}
	forget(t, g.rt, meanwhile...)
	g.planter = g.p.planter()
	g.plant("stays")
	if young := g.p.does("orphans", "-o", "json"); strings.Contains(young, `"leaked"`) {
		t.Errorf("although it is younger than a sandbox takes to be created: %s", young)
	}
	found := g.looks()
	for _, f := range made {
		g.judges(f, found)
	}
	if o := slices.IndexFunc(found, func(o orphanpods.Orphan) bool { return o.Name == "stays" && o.Class != orphanpods.RuntimeOnly }); o >= 0 {
		t.Errorf("accused: %s", found[o].Why)
	}
	g.kills(found)
	for _, o := range g.looks() {
		if o.Name != "stays" {
			t.Errorf("left: %s %s %s", o.Title(), o.Class, o.Why)
		}
	}
	g.p.does("orphans", "--kill", "--rm", "stays")
	var left []string
	testutil.Eventually(t, timeout, "nothing is left but files of the runtime's and the CNI cache", func() bool {
		left = slices.DeleteFunc(g.rt.Traces(), func(trace string) bool {
			kind, _, _ := strings.Cut(trace, " ")
			return slices.Contains(before, trace) || kind == "state" || kind == "attachment"
		})
		return len(left) == 0
	}, func() string { return strings.Join(left, "\n") })
}

// looks returns what `podctl orphans` lists.
func (g *leakGallery) looks() []orphanpods.Orphan {
	g.p.t.Helper()
	v, err := g.finder.Look(g.p.t.Context())
	if err == nil {
		err = g.finder.FindLeaks(g.p.t.Context(), v)
	}
	if err != nil || !v.Leaks.Examined {
		g.p.t.Fatalf("leaks are not looked for: %v", err)
	}
	return orphanpods.Classify(v.Facts).Orphans
}

// judges compares what is listed of the pod of a fault with what has to be.
func (g *leakGallery) judges(f leakFault, found []orphanpods.Orphan) {
	t, answer := g.p.t, g.answers[f.pod]
	for _, o := range found {
		if o.Class != f.class || o.Name != f.pod && (o.Leak == nil || o.Leak.ID != g.sandboxes[f.pod]) {
			continue
		}
		answer.last = o.Title() + " " + string(o.Class) + " " + o.Why
		kinds := map[leak.Kind]bool{}
		if o.Leak != nil {
			for _, thing := range o.Leak.Things {
				kinds[thing.Kind] = true
			}
		}
		if f.kind != "" && !kinds[f.kind] || !regexp.MustCompile(f.evidence).MatchString(o.Why) {
			continue
		}
		if f.alone != nil && !slices.Equal(slices.Sorted(maps.Keys(kinds)), f.alone) {
			continue
		}
		if o.Name == f.pod || f.unnamed && o.Name == "" {
			answer.Layer, answer.Step, answer.Evidence = string(o.Class), string(f.kind), o.Why
			t.Logf("%s: orphans: %s", f.pod, answer.last)
			return
		}
	}
	var all []string
	for _, o := range found {
		all = append(all, o.Title()+" "+string(o.Class)+" "+o.Why)
	}
	t.Errorf("%s: orphans does not name %s %s, evidence %s: %s\nall:\n%s", f.pod, f.class, f.kind, f.evidence, answer.last, strings.Join(all, "\n"))
}

// kills removes all that is listed, as `podctl orphans --kill --rm` does.
func (g *leakGallery) kills(found []orphanpods.Orphan) {
	t, k := g.p.t, orphanpods.Killer{KillOptions: orphanpods.KillOptions{Remove: true}, Finder: g.finder}
	began, leaks := time.Now(), 0
	var killing sync.WaitGroup
	for _, o := range found {
		if o.Leak == nil {
			continue
		}
		leaks++
		t.Cleanup(func() { _ = os.Remove("/var/lib/cni/results/cni-loopback-" + o.Leak.ID + "-lo") }) // unless it has none
		killing.Go(func() {
			var steps []string
			result, why, err := k.Kill(t.Context(), o, func(call string, failure error) { steps = append(steps, fmt.Sprint(call, " ", failure)) })
			if result != orphanpods.Removed {
				t.Errorf("%s: %s %s %v\n%s", o.Title(), result, why, err, strings.Join(steps, "\n"))
			}
		})
	}
	killing.Wait()
	t.Logf("%d leaks removed in %s", leaks, time.Since(began).Round(time.Millisecond))
	g.p.does("orphans", "--kill", "--rm", "left-*")
}

// removeLeaks removes what the runtime left of sandboxes that it does not list, as `podctl orphans
// --kill` does six minutes later. The cgroups of pods are left to their owner.
func (g *gallery) removeLeaks() {
	g.t.Helper()
	f := leakFinder(g.t, g.rt)
	look := func() []leak.Leak {
		found, err := f.Find(g.t.Context(), nil)
		if err != nil || !found.Examined {
			g.t.Fatalf("leaks are not looked for: %v %v", err, found.Unread)
		}
		return slices.DeleteFunc(found.Leaks, func(l leak.Leak) bool { return l.Assumed })
	}
	r := leak.Remover{Host: f.Host, Step: func(call string, err error) { g.t.Log(call, err) }}
	testutil.Eventually(g.t, 2*timeout, "what the runtime left is removed", func() bool {
		before := look()
		for _, now := range look() {
			if i := slices.IndexFunc(before, func(l leak.Leak) bool { return l.ID == now.ID }); i >= 0 {
				if err := r.Remove(g.t.Context(), before[i], now); err != nil {
					g.t.Log(err)
				}
			}
		}
		return len(before) == 0
	})
}
