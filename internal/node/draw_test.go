package node

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/lab/rules"
)

// draw makes the acts of a seed.
func draw(seed uint64) []string {
	d := drawing{Rand: rand.New(rand.NewPCG(seed, 1))}
	if d.IntN(2) == 0 {
		d.act("rename")
	}
	d.act("want%s", d.somePods())
	for range 10 + d.IntN(30) {
		d.next()
		if pause := pick(d, "", "1ms", "100ms", "1s", "5s", "20s", "90s"); pause != "" {
			d.act("wait %s", pause)
		}
	}
	return d.acts
}

type drawing struct {
	*rand.Rand
	acts []string
	// killed: no podctl runs.
	killed bool
}

func pick[T any](d drawing, all ...T) T { return all[d.IntN(len(all))] }

func (d *drawing) act(format string, args ...any) {
	d.acts = append(d.acts, fmt.Sprintf(format, args...))
}

// somePods returns some of the pods, each in any version, as the arguments of want.
func (d *drawing) somePods() string {
	var b strings.Builder
	for _, name := range podNames {
		if d.IntN(3) > 0 {
			b.WriteString(" " + d.ref(name))
		}
	}
	return b.String()
}

func (d *drawing) ref(name string) string {
	return fmt.Sprintf("%s/%d", name, d.IntN(len(versions[name])))
}

func (d *drawing) next() {
	switch n := d.IntN(42); {
	case d.killed && n < 20, n < 6:
		d.killed = false
		d.act("want%s settings=%d%s", pick(*d, "", "", "", " partly"), d.IntN(3), d.somePods())
	case n < 9:
		d.killed = true
		d.act("kill %s", pick(*d, "hard", "soft"))
	case n < 11:
		d.act("%s", pick(*d, "crash", "recover"))
	case n < 17:
		d.fault()
	case n < 19:
		d.act("%s %d", pick(*d, "sandbox-dies", "container-dies", "container-dies"), d.IntN(6))
	case n < 22:
		d.act("%s", pick(*d, "beside"+d.somePods(), "beside-kill hard", "beside-kill soft", "beside-drain"))
	case n < 29:
		d.act("%s %s", pick(*d, "stop", "start", "start", "evict", "restart"), pick(*d, podNames...))
	case n < 32:
		name := pick(*d, podNames...)
		d.act("foreign %d %s %s %d %d", d.IntN(len(foreignKinds)), pick(*d, "other", name), d.ref(name), d.IntN(6), d.IntN(len(foreignCommands)))
	case n < 33:
		d.act("foreign-goes %d", d.IntN(3))
	case n < 35:
		d.act("clock %s", pick(*d, "24h", "-24h", "24h", "-24h", "1m", "-1m"))
	case n < 37:
		d.act("disk-full %s", pick(*d, "podctl", "runtime"))
	case n < 38:
		d.act("%s", pick(*d, "network", "fault method=GetContainerEvents "+[]string{"repeat=1", "drop", "drop probability=0.5", "drop probability=0.33"}[d.IntN(4)]))
	case n < 39:
		for _, act := range pick(*d, knownFailures...) {
			d.act("%s", act)
		}
	case n < 41:
		d.rule()
	default:
		d.act("calm")
	}
}

// rule has the rules of a file of examples/faults act.
func (d *drawing) rule() {
	name := pick(*d, galleryNames()...)
	d.act("rule %s", name)
	if slices.ContainsFunc(galleryRules()[name], func(r rules.Rule) bool { return r.End }) { // of streams that begin
		d.act("crash")
		d.act("recover")
	}
}

// knownFailures are the acts of failures that runtimes are known for.
var knownFailures = [][]string{
	{"fault method=StopContainer error=DeadlineExceeded"},               // a container never stops
	{"fault method=StopPodSandbox error=DeadlineExceeded"},              // nor does a sandbox
	{"fault method=ContainerStatus hang"},                               // the PLEG is not healthy
	{"fault method=PodSandboxStatus hang"},                              // the same
	{"fault method=RunPodSandbox nth=1-2 lost=DeadlineExceeded"},        // two sandboxes of one pod
	{"fault method=RunPodSandbox nth=1-3 delay=2s", "wait 1s", "crash"}, // a restart in RunPodSandbox
	{"fault method=CreateContainer nth=1-2 lost=DeadlineExceeded"},      // the name of a container is reserved
	{"no-events"}, // events are switched off
	{"crash", "container-dies 0", "sandbox-dies 0", "recover"},                     // what ended while the runtime was dead
	{"fault method=ListContainers hang", "fault method=ListPodSandbox nth=1 hang"}, // a runtime that accepts and does not answer
}

// faultyMethods are the calls that go wrong.
var faultyMethods = []string{
	"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer",
	"ExecSync", "ListPodSandbox", "ListContainers", "PodSandboxStatus", "ContainerStatus", "ImageStatus", "PullImage", "Status", "GetContainerEvents",
}

func (d *drawing) fault() {
	how := pick(*d, "error=Unknown", "hang", fmt.Sprintf("delay=%dms", 1+d.IntN(3000)))
	method, first, times := pick(*d, faultyMethods...), 1+d.IntN(3), d.IntN(3)
	lost := pick(*d, "", " lost=Unknown")
	if method == "GetContainerEvents" { // which has no one answer
		lost = ""
	}
	d.act("fault method=%s nth=%d-%d %s%s", method, first, first+times, how, lost)
}
