package e2e

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/testkit/testutil"
)

var (
	chaosFor  = flag.Duration("chaos.for", 40*time.Second, "how long TestChaos causes faults")
	chaosSeed = flag.Uint64("chaos.seed", 0, "seed of TestChaos; 0 takes one from the clock")
)

const (
	chaosPods = 30
	// chaosRound is how long faults go on before everything must converge.
	chaosRound = 15 * time.Second
	// chaosSettles is how long it may take to converge when no fault is left.
	chaosSettles = 4 * time.Minute
)

// chaos is an agent whose pods come, change and go while everything around it
// breaks. Its choices follow from the seed; their timing is the machine's.
type chaos struct {
	*agentPlace
	rng   *rand.Rand
	disk  string // of the runtime's data
	raw   *bare.Client
	agent *process // nil while it is down
	// runDeleted is the agent whose run directory was deleted before it had begun to serve.
	runDeleted *process

	runtimeDown bool
	wanted      map[string]chaosPod
	version     int
	undo        []undo
	counts      map[string]int
	// deleted are the names of the pod directories that were deleted.
	deleted map[string]bool
	settled []time.Duration
	// journal is what was done, and when; agents are all there have been.
	journal []string
	agents  []*process
}

// undo ends a fault that has a duration.
type undo struct {
	at time.Time
	do func()
}

// Thirty pods come, change and go under kills and freezes of the agent, the
// runtime and the shims, and under lost network namespaces, directories and disk
// space. Whenever the faults stop, every pod that is wanted is there, once and in
// its last version, nothing else is, and no two lives of a pod ever overlapped.
func TestChaos(t *testing.T) {
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with: make chaos DURATION=%s SEED=%d", *chaosFor, seed)
	eachSmallDisk(t, "256m", func(t *testing.T, a *agentPlace, disk string) {
		c := newChaos(t, a, disk, seed)
		defer func() { t.Logf("seed %d: %s", seed, c.report()) }()
		c.startAgent()
		for _, name := range c.names() {
			c.put(name+".yaml", c.next(name))
		}
		for begin := time.Now(); time.Since(begin) < *chaosFor; {
			for round := time.Now(); time.Since(round) < chaosRound; {
				c.step()
			}
			c.heal()
			c.converges()
		}
		c.removeAll()
		clear(c.wanted)
		c.converges()
		testutil.Moving(t, crowdStall, "nothing is left of the pods", func() bool { return c.count() == 0 && len(c.left()) == 0 },
			func() string {
				return fmt.Sprintf("the runtime holds %d pods; left %q, deleted %v", c.count(), c.left(), c.deleted)
			})
		c.removeLostLogs()
		c.killLostShims()
		c.agent.ends(syscall.SIGTERM, 0)
	})
}

func newChaos(t *testing.T, a *agentPlace, disk string, seed uint64) *chaos {
	t.Helper()
	c := &chaos{
		agentPlace: a, disk: disk, rng: rand.New(rand.NewPCG(seed, 0)),
		wanted: map[string]chaosPod{}, counts: map[string]int{}, deleted: map[string]bool{},
	}
	if err := live.Build(a.path("mark/life"), "./test/live/life"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", a.path("root"), "tmpfs", 0, "size=16m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(a.path("root"), syscall.MNT_DETACH) })
	for _, dir := range []string{a.path("root/pods"), a.path("root/fill"), filepath.Join(disk, "fill")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if c.raw, err = bare.Dial(a.rt.Endpoint); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.raw.Close() })
	return c
}

// step does one thing to the pods or to what they live on, and waits a moment.
func (c *chaos) step() {
	c.t.Helper()
	c.undoDue(time.Now())
	c.agentLives()
	if c.rng.IntN(3) > 0 {
		c.churn()
	} else {
		f := chaosFaults[c.rng.IntN(len(chaosFaults))]
		c.note("%s …", f.name)
		if f.cause(c) {
			c.counts[f.name]++
			c.note("… %s", f.name)
		}
	}
	c.oneLife()
	time.Sleep(c.between(20*time.Millisecond, 400*time.Millisecond))
}

// between is a time from low to high.
func (c *chaos) between(low, high time.Duration) time.Duration {
	return low + time.Duration(c.rng.Int64N(int64(high-low)))
}

// later ends a fault after some time.
func (c *chaos) later(low, high time.Duration, do func()) {
	c.undo = append(c.undo, undo{time.Now().Add(c.between(low, high)), do})
}

func (c *chaos) undoDue(now time.Time) {
	due := c.undo
	c.undo = nil
	for _, u := range due {
		if u.at.After(now) {
			c.undo = append(c.undo, u)
		} else {
			u.do()
		}
	}
}

// heal ends all faults.
func (c *chaos) heal() {
	c.t.Helper()
	for len(c.undo) > 0 {
		c.undoDue(time.Now().Add(time.Hour))
	}
}

// startAgent starts the agent, unless the runtime is down: then it waits for it.
func (c *chaos) startAgent() {
	if c.runtimeDown {
		c.later(time.Second, 2*time.Second, c.startAgent)
		return
	}
	c.agent = c.agentPlace.agent()
	c.agents = append(c.agents, c.agent)
	c.note("agent %d started", c.agent.cmd.Process.Pid)
	c.counts["agents started"]++
}

// agentLives asserts that the agent has not ended by itself. One that was just
// started may find the runtime dead, or lose its run directory before it has taken
// its locks: systemd starts it again.
func (c *chaos) agentLives() {
	c.t.Helper()
	if c.agent == nil {
		return
	}
	select {
	case <-c.agent.done:
		switch code := c.agent.cmd.ProcessState.ExitCode(); {
		case code == exitUnreachable:
			c.counts["agents that found no runtime"]++
		case code == 1 && c.runDeleted == c.agent:
			c.counts["agents that lost their run directory while they started"]++
		default:
			out, errw := c.agent.output()
			c.t.Fatalf("the agent has ended with exit code %d\n%s%s\n%s", code, out, errw, c.history("agent"))
		}
		c.agent = nil
		c.startAgent()
	default:
	}
}

const (
	exitUnreachable = 3   // podctl's exit code where no runtime answers
	exitInterrupted = 130 // podctl's exit code where it was interrupted
	exitSignal      = -1  // what Go reports for a process that a signal killed
)

// converges waits until what runs is what is wanted.
func (c *chaos) converges() {
	c.t.Helper()
	begin := time.Now()
	why := ""
	restarted := false
	done := testutil.Poll(chaosSettles, func() bool {
		c.agentLives()
		c.undoDue(time.Now())
		why = c.unsettled()
		if why != "" && !restarted && time.Since(begin) > lostTaskAfter && c.runtimeKeepsTask() {
			restarted = true
			c.restartRuntime()
		}
		return why == ""
	})
	c.oneLife()
	if !done {
		c.t.Fatalf("not within %s: %s\n%s", chaosSettles, why, c.history(strings.Fields(why)[0]))
	}
	took := time.Since(begin)
	c.settled = append(c.settled, took)
	c.note("convergence %d", len(c.settled))
	c.t.Logf("convergence %d: %d pods wanted, after %s; %d lives so far", len(c.settled), len(c.wanted), took.Round(100*time.Millisecond), len(c.marks("lives")))
}

// lostTaskAfter is how long a convergence may take before the runtime is looked at.
const lostTaskAfter = 30 * time.Second

// runtimeKeepsTask reports whether the runtime may hold a task of a container that it
// calls exited: containerd does if the client of a StartContainer goes away between the
// creation of the task and the question for its pid. It removes neither such a container
// nor its sandbox until it is restarted; podctl terminating says so.
func (c *chaos) runtimeKeepsTask() bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	list, err := c.raw.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{
		Filter: &runtimeapi.ContainerFilter{State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_EXITED}},
	})
	if err != nil {
		return false
	}
	return slices.ContainsFunc(list.Containers, func(container *runtimeapi.Container) bool {
		answer, err := c.raw.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: container.Id})
		return err == nil && strings.Contains(answer.Status.Message, "failed to get task pid")
	})
}

// restartRuntime does what the operator of a runtime that lost a task has to do.
func (c *chaos) restartRuntime() {
	c.note("runtime restarted: it keeps the task of a dead container")
	c.counts["restarts of a runtime that kept the task of a dead container"]++
	c.rt.Kill(c.t)
	c.rt.Start(c.t)
}

// oneLife asserts that no container found another one of its name.
func (c *chaos) oneLife() {
	c.t.Helper()
	if names := c.marks("twice"); len(names) > 0 {
		c.t.Fatalf("two lives at once: %q\n%s", names, c.history(names[0]))
	}
}

func (c *chaos) note(format string, args ...any) {
	c.journal = append(c.journal, time.Now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// history is what was done last, and what all agents printed about a pod.
func (c *chaos) history(name string) string {
	var b strings.Builder
	for _, line := range c.journal[max(0, len(c.journal)-100):] {
		fmt.Fprintln(&b, line)
	}
	for _, agent := range c.agents {
		out, errw := agent.output()
		fmt.Fprintf(&b, "agent %d:\n", agent.cmd.Process.Pid)
		for line := range strings.Lines(out) {
			if strings.Contains(line, name) {
				b.WriteString(line)
			}
		}
		b.WriteString(tail(errw))
	}
	if list, err := c.raw.Runtime.ListContainers(c.t.Context(), &runtimeapi.ListContainersRequest{}); err == nil {
		for _, container := range list.Containers {
			if container.Labels["io.kubernetes.pod.name"] == name {
				fmt.Fprintf(&b, "container %s of sandbox %s, attempt %d, %s\n", container.Id, container.PodSandboxId, container.Metadata.Attempt, container.State)
			}
		}
	}
	out, errw, _ := c.podctl("terminating")
	return b.String() + "terminating:\n" + out + errw
}

// killLostShims kills the shims that are left when no pod is: a containerd that is
// killed, or whose shim is frozen, while it ends a task forgets the shim. It is
// podctl's fault only if anything still runs in one.
func (c *chaos) killLostShims() {
	c.t.Helper()
	if left := c.rt.PodProcesses(); len(left) > 0 {
		c.t.Errorf("processes of pods are left: %v", left)
	}
	testutil.Poll(5*time.Second, func() bool { return len(c.rt.Shims()) == 0 })
	for _, pid := range c.rt.Shims() {
		c.counts["shims that the runtime lost"]++
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	c.removeLostState()
}

// removeLostState removes the network namespaces of sandboxes, and the state and the
// cgroups of containers, that the runtime lost when it or their shim was killed: it holds
// no pod any more.
func (c *chaos) removeLostState() {
	for _, file := range c.rt.NetworkNamespaces() {
		if syscall.Unmount(file, syscall.MNT_DETACH) == nil && os.Remove(file) == nil {
			c.counts["network namespaces that the runtime lost"]++
		}
	}
	for _, trace := range slices.Backward(c.rt.Traces()) {
		kind, path, _ := strings.Cut(trace, " ")
		switch kind {
		case "cgroup":
			if os.Remove(path) == nil { // not with a process in it
				c.counts["cgroups that were left"]++
			}
		case "state":
			c.counts["states of containers that the runtime lost"]++
			_ = os.RemoveAll(path)
		}
	}
}

// left are the directories of pods, without the logs of those whose pod directory was
// deleted: an agent that is killed then leaves no record of them.
func (c *chaos) left() []string {
	return append(glob(c.t, c.path("root/pods/*")), slices.DeleteFunc(glob(c.t, c.path("logs/*")), c.isLost)...)
}

func (c *chaos) isLost(logs string) bool { return c.deleted[logs[strings.LastIndex(logs, "_")+1:]] }

func (c *chaos) removeLostLogs() {
	c.t.Helper()
	for _, dir := range glob(c.t, c.path("logs/*")) {
		c.counts["log directories that lost their pod's directory"]++
		if err := os.RemoveAll(dir); err != nil {
			c.t.Error(err)
		}
	}
}

// tail is the end of a long output.
func tail(s string) string { return s[max(0, len(s)-8<<10):] }

// report is what happened, counted.
func (c *chaos) report() string {
	var b strings.Builder
	faults := 0
	for _, f := range chaosFaults {
		faults += c.counts[f.name]
	}
	fmt.Fprintf(&b, "%d faults, %d lives, %d at once", faults, len(c.marks("lives")), len(c.marks("twice")))
	for _, name := range slices.Sorted(maps.Keys(c.counts)) {
		fmt.Fprintf(&b, "\n  %4d %s", c.counts[name], name)
	}
	fmt.Fprintf(&b, "\n  %4d convergences", len(c.settled))
	for _, d := range c.settled {
		fmt.Fprintf(&b, " %s", d.Round(100*time.Millisecond))
	}
	return b.String()
}
