package view

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/cgroup/cgrouptest"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

var now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// host is a directory that stands for /proc, and one for /sys/fs/cgroup.
type host struct {
	t       *testing.T
	proc    proc.FS
	cgroups string
}

func newHost(t *testing.T) host {
	h := host{t, proc.FS(cgrouptest.Dir(t)), cgrouptest.Dir(t)}
	h.write(filepath.Join(string(h.proc), "stat"), "btime 1000\n")
	for _, pid := range []string{"self", "99"} { // podctl and the runtime share a PID namespace
		h.link(pid, "pid:[1]")
	}
	return h
}

func (h host) link(pid, namespace string) {
	h.t.Helper()
	dir := filepath.Join(string(h.proc), pid, "ns")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		h.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(dir, "pid"))
	if err := os.Symlink(namespace, filepath.Join(dir, "pid")); err != nil {
		h.t.Fatal(err)
	}
}

func (h host) write(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// process adds a process. stat is the state and the parent.
func (h host) process(pid int, comm, stat, status string, args ...string) {
	h.t.Helper()
	dir := filepath.Join(string(h.proc), strconv.Itoa(pid))
	h.write(filepath.Join(dir, "stat"), fmt.Sprintf("%d (%s) %s 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 100 0", pid, comm, stat))
	h.write(filepath.Join(dir, "status"), status)
	line := ""
	for _, a := range args {
		line += a + "\x00"
	}
	h.write(filepath.Join(dir, "cmdline"), line)
}

// runtime reports the same process for every container.
type runtime struct {
	Runtime
	of cri.ContainerProcess
}

func processes(of cri.ContainerProcess) runtime { return runtime{of: of} }

func (r runtime) ContainerProcess(context.Context, string) (cri.ContainerProcess, error) {
	return r.of, nil
}

func (runtime) SandboxDetails(context.Context, string) (cri.Details, error) {
	return cri.Details{NetworkHeld: true}, nil
}

// noticing is a runtime that has noticed an exit by the time that it is asked again.
type noticing struct {
	runtime
	answers int
}

func (r *noticing) ContainerProcess(context.Context, string) (cri.ContainerProcess, error) {
	if r.answers++; r.answers > 1 {
		return cri.ContainerProcess{}, nil
	}
	return cri.ContainerProcess{PID: 8812}, nil
}

// facts collects the facts of a kubelet's pod with one container, c1.
func (h host) seen(rt Runtime) *Pod {
	h.t.Helper()
	c := &Reader{
		Runtime: rt, PodDirs: h.t.TempDir(), Asker: owners.Asker{Procs: h.proc}, Cgroups: h.cgroups,
		Now: func() time.Time { return time.Unix(1031, 0) }, Server: cri.Server{PID: 99},
	}
	p := &Pod{Metadata: Metadata{UID: "u", Namespace: "default", Name: "db"}, Runtime: &pod.Pod{
		Sandboxes:  []*pod.Sandbox{{ID: "s1", State: pod.Running, Labels: map[string]string{pod.UIDLabel: "u"}}},
		Containers: []*pod.Container{{ID: "c1", Name: "db", State: pod.Running}},
	}}
	seen := p.seen()
	seen.Ending = c.ending(h.t.Context(), p, rt, c.newProcessScan())
	return seen
}

func TestCollectorFindsShimHookAndSignalInProgress(t *testing.T) {
	h := newHost(t)
	h.process(7, "containerd-shim", "S 1", "")
	h.process(8812, "db", "S 7", "SigIgn:\t0000000000004000\n")
	h.process(9001, "sleep", "S 7", "")
	h.process(400, "runc", "D 7", "", "runc", "--root", "/run", "kill", "c1", "15")
	h.process(401, "runc", "S 7", "", "runc", "kill", "another", "15")
	h.write(filepath.Join(string(h.proc), "8812", "cgroup"), "5:pids:/pods/c1\n")
	h.write(filepath.Join(h.cgroups, "pids/pods/c1/cgroup.procs"), "8812\n9001\n")
	c := h.seen(processes(cri.ContainerProcess{PID: 8812, PreStop: true})).Ending.Containers[0]
	if c.Shim.PID != 7 || c.Hook.PID != 9001 || c.Kill.PID != 400 || c.KillAge != 30*time.Second || c.Frozen != "" || !c.PreStop || c.Gone || c.Hidden {
		t.Errorf("%+v", c)
	}
}

// TestHookOfCRIO: an exec has a conmon of its own. A program of the container that has that name
// is none.
func TestHookOfCRIO(t *testing.T) {
	h := newHost(t)
	h.process(7, "conmon", "S 1", "")
	h.process(8812, "db", "S 7", "")
	h.process(9000, "conmon", "S 8812", "")
	h.process(9001, "sleep", "S 9000", "")
	h.write(filepath.Join(string(h.proc), "8812", "cgroup"), "5:pids:/pods/c1\n")
	h.write(filepath.Join(h.cgroups, "pids/pods/c1/cgroup.procs"), "8812\n9000\n9001\n")
	if c := h.seen(processes(cri.ContainerProcess{PID: 8812, PreStop: true})).Ending.Containers[0]; c.Hook.PID != 0 {
		t.Errorf("a child of a process of the container is taken for an exec: %+v", c.Hook)
	}
	h.process(20, "conmon", "S 1", "")
	h.process(9002, "sleep", "S 20", "")
	h.write(filepath.Join(h.cgroups, "pids/pods/c1/cgroup.procs"), "8812\n9000\n9001\n9002\n")
	if c := h.seen(processes(cri.ContainerProcess{PID: 8812, PreStop: true})).Ending.Containers[0]; c.Hook.PID != 9002 {
		t.Errorf("%+v", c.Hook)
	}
}

func TestProcessOfAnotherPIDNamespaceIsHiddenNotGone(t *testing.T) {
	h := newHost(t)
	h.link("99", "pid:[2]") // no process has the PID here
	f := h.seen(processes(cri.ContainerProcess{PID: 8812}))
	if c := f.Ending.Containers[0]; !c.Hidden || c.Gone || f.IsEnding() {
		t.Errorf("%+v", c)
	}
	h.process(8812, "unrelated", "T 1", "")
	if c := h.seen(processes(cri.ContainerProcess{PID: 8812})).Ending.Containers[0]; c.Process.PID != 0 {
		t.Errorf("a process of another namespace is taken for the container's: %+v", c)
	}
}

func TestExitIsReportedIfTheRuntimeDoesNotNoticeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		if f := h.seen(processes(cri.ContainerProcess{PID: 8812})); !f.Ending.Containers[0].Gone || !f.IsEnding() {
			t.Errorf("gone: %+v", f.Ending.Containers[0])
		}
		if f := h.seen(&noticing{}); f.Ending.Containers[0].Gone || f.IsEnding() {
			t.Errorf("gone, which the runtime notices: %+v", f.Ending.Containers[0])
		}
		h.process(8812, "db", "Z 7", "")
		if f := h.seen(processes(cri.ContainerProcess{PID: 8812})); f.Ending.Containers[0].Process.State != proc.Zombie || !f.IsEnding() {
			t.Errorf("zombie: %+v", f.Ending.Containers[0])
		}
		if f := h.seen(&noticing{}); f.IsEnding() {
			t.Errorf("a zombie until the runtime notices the exit: %+v", f.Ending.Containers[0])
		}
	})
}

func TestFrozenCgroupIsTheNearestThatAsksForIt(t *testing.T) {
	for name, c := range map[string]struct {
		cgroup string
		files  map[string]string
		want   string
	}{
		"v1, its own": {"3:freezer:/pods/c1", map[string]string{
			"freezer/pods/c1/freezer.state": "FROZEN", "freezer/pods/c1/freezer.self_freezing": "1",
		}, "freezer/pods/c1/freezer.state"},
		"v1, the pod's": {"3:freezer:/pods/c1", map[string]string{
			"freezer/pods/c1/freezer.state": "FROZEN", "freezer/pods/c1/freezer.self_freezing": "0", "freezer/pods/freezer.self_freezing": "1",
		}, "freezer/pods/freezer.state"},
		"v1, a process of it cannot be frozen yet": {"3:freezer:/pods/c1", map[string]string{
			"freezer/pods/c1/freezer.state": "FREEZING", "freezer/pods/c1/freezer.self_freezing": "1",
		}, "freezer/pods/c1/freezer.state"},
		"v1, thawed": {"3:freezer:/pods/c1", map[string]string{"freezer/pods/c1/freezer.state": "THAWED"}, ""},
		"v2, its own": {"0::/pods/c1", map[string]string{
			"pods/c1/cgroup.events": "populated 1\nfrozen 1", "pods/c1/cgroup.freeze": "1",
		}, "pods/c1/cgroup.freeze"},
		"v2, the pod's": {"0::/pods/c1", map[string]string{
			"pods/c1/cgroup.events": "populated 1\nfrozen 1", "pods/c1/cgroup.freeze": "0", "pods/cgroup.freeze": "1",
		}, "pods/cgroup.freeze"},
		"v2, running":              {"0::/pods/c1", map[string]string{"pods/c1/cgroup.events": "populated 1\nfrozen 0", "pods/c1/cgroup.freeze": "0"}, ""},
		"v2, outside of the mount": {"0::/../outside", map[string]string{"../outside/cgroup.events": "frozen 1", "../outside/cgroup.freeze": "1"}, ""},
		"v1, outside of the mount": {"3:freezer,x/../../outside:/", map[string]string{
			"../outside/freezer.state": "FROZEN", "../outside/freezer.self_freezing": "1",
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.process(8812, "db", "S 1", "")
			h.write(filepath.Join(string(h.proc), "8812", "cgroup"), c.cgroup+"\n")
			for file, text := range c.files {
				h.write(filepath.Join(h.cgroups, file), text+"\n")
			}
			want := ""
			if c.want != "" {
				want = filepath.Join(cgroup.Mounts, c.want)
			}
			if got := h.seen(processes(cri.ContainerProcess{PID: 8812})).Ending.Containers[0].Frozen; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestFrozenContainerInEveryLayout(t *testing.T) {
	id := strings.Repeat("a1", 32)
	p := cgrouptest.Pod{UID: "8f73c1d2-0000-4000-8000-000000000001", Class: "burstable", Processes: map[string][]int{id: {8812}}}
	for _, l := range cgrouptest.Layouts() {
		h := newHost(t)
		h.process(8812, "db", "S 1", "")
		l.Write(t, h.cgroups, p)
		h.write(filepath.Join(string(h.proc), "8812", "cgroup"), l.Proc(l.Container(p, id)))
		if got := h.seen(processes(cri.ContainerProcess{PID: 8812})).Ending.Containers[0].Frozen; got != "" {
			t.Errorf("%s: frozen by %q", l, got)
		}
		want := filepath.Join(cgroup.Mounts, l.Freeze(t, h.cgroups, l.Container(p, id)))
		if got := h.seen(processes(cri.ContainerProcess{PID: 8812})).Ending.Containers[0].Frozen; got != want {
			t.Errorf("%s: frozen by %q, want %q", l, got, want)
		}
	}
}

// containerd stops a sandbox before it tears down the network, which may fail.
func TestTheNetworkOfAStoppedSandboxThatIsTerminatedIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		state  pod.State
		view   kubeletPods
		bare   bool
		listed bool
	}{
		"stopped and terminated": {pod.Exited, kubeletPods{complete: true}, false, true},
		"stopped":                {pod.Exited, kubeletPods{}, false, false},
		"ready and terminated":   {pod.Running, kubeletPods{complete: true}, false, false},
		"bare and stopped":       {pod.Exited, kubeletPods{}, true, true},
		"bare and ready":         {pod.Running, kubeletPods{}, true, false},
	} {
		p := &Pod{Metadata: Metadata{UID: "u", Name: "db"}, Runtime: &pod.Pod{
			Sandboxes: []*pod.Sandbox{{ID: "s1", State: c.state, Labels: map[string]string{pod.UIDLabel: "u"}}},
		}}
		if c.bare {
			p.Runtime.Sandboxes[0].Labels = nil
		}
		collector := &Reader{Runtime: runtime{}, PodDirs: t.TempDir(), Now: time.Now, ofKubelet: c.view}
		f := p.seen()
		if f.Ending = collector.ending(t.Context(), p, runtime{}, collector.newProcessScan()); f.Ending.NetworkHeld != c.listed || f.Ending.NetworkHeld && !f.IsEnding() {
			t.Errorf("%s: %+v", name, f.Ending)
		}
	}
}

// What a podctl process recorded about a stop counts while it is suspended, does not answer or has exited.
func TestStopIsKnownByTheRecordOfAPodctlThatDoesNotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		verdict owners.Verdict
		stop    bool
		by      Ownership
	}{
		"suspended":             {owners.Verdict{Relation: owners.Unknown, Kind: owners.ByPodctl, Process: owners.Process{PID: 812, Stopped: true}}, true, OwnedBySuspended},
		"silent":                {owners.Verdict{Relation: owners.Unknown, Kind: owners.ByPodctl}, true, OwnedBySilent},
		"exited":                {owners.Verdict{}, true, OwnedByExited},
		"suspended, not asked":  {owners.Verdict{Relation: owners.Unknown, Kind: owners.ByPodctl, Process: owners.Process{PID: 812, Stopped: true}}, false, 0},
		"does not answer, idle": {owners.Verdict{Relation: owners.Unknown, Kind: owners.ByPodctl}, false, 0},
	} {
		dir := t.TempDir()
		if c.stop {
			err := errors.Join(os.Mkdir(filepath.Join(dir, "u"), 0o755), poddir.WriteRecord(filepath.Join(dir, "u"), poddir.Record{StopRequested: time.Unix(1000, 0), GraceSeconds: new(int64(120))}))
			if err != nil {
				t.Fatal(err)
			}
		}
		collector := &Reader{Runtime: runtime{}, PodDirs: dir, Now: func() time.Time { return time.Unix(1031, 0) }}
		p := &Pod{Metadata: Metadata{UID: "u", Namespace: "default", Name: "db"}, Creator: "agent", Verdict: c.verdict, Runtime: &pod.Pod{
			Sandboxes:  []*pod.Sandbox{{ID: "s1", State: pod.Running, Owner: "agent"}},
			Containers: []*pod.Container{{ID: "c1", Name: "db", State: pod.Running}},
		}}
		f := collector.Endings(t.Context(), []*Pod{p})[0]
		if f == nil || !c.stop {
			if (f != nil) != c.stop {
				t.Errorf("%s: %+v, want listed %v", name, f, c.stop)
			}
			continue
		}
		if left := f.Ending.GraceLeft; f.Ownership() != c.by || !f.StopRecorded() || left == nil || *left != 89*time.Second {
			t.Errorf("%s: by %v, left %v, %+v", name, f.Ownership(), left, f.Ending)
		}
	}
}

// A container that the runtime reports as running is said to be broken only where its process was
// looked up, and the runtime had time to notice the exit.
func TestBrokenProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.write(filepath.Join(h.cgroups, "memory/pods/c1/cgroup.procs"), "")
		r := &Reader{Asker: owners.Asker{Procs: h.proc}, Cgroups: h.cgroups, Server: cri.Server{PID: 99}, Now: time.Now}
		of := func(rt Runtime) *Container {
			r.Runtime = rt
			return r.BrokenProcesses(t.Context(), []*Pod{{Runtime: &pod.Pod{Containers: []*pod.Container{{ID: "c1", Name: "db", State: pod.Running}}}}})["c1"]
		}
		if b := of(processes(cri.ContainerProcess{PID: 8812})); b == nil || !b.Gone || b.PID != 8812 || b.Name != "db" {
			t.Errorf("gone: %+v", b)
		}
		for name, rt := range map[string]Runtime{"noticed": &noticing{}, "no PID, for ever": processes(cri.ContainerProcess{})} {
			if b := of(rt); b != nil {
				t.Errorf("%s: %+v", name, b)
			}
		}
		h.process(8812, "db", "S 7", "")
		h.write(filepath.Join(string(h.proc), "8812", "cgroup"), "3:freezer:/pods/c1\n")
		if b := of(processes(cri.ContainerProcess{PID: 8812})); b != nil {
			t.Errorf("runs: %+v", b)
		}
		h.write(filepath.Join(h.cgroups, "freezer/pods/c1/freezer.state"), "FROZEN\n")
		h.write(filepath.Join(h.cgroups, "freezer/pods/c1/freezer.self_freezing"), "1\n")
		if b := of(processes(cri.ContainerProcess{PID: 8812})); b == nil || b.Frozen != filepath.Join(cgroup.Mounts, "freezer/pods/c1/freezer.state") {
			t.Errorf("frozen: %+v", b)
		}
		h.link("99", "pid:[2]")
		if b := of(processes(cri.ContainerProcess{PID: 8812})); b != nil {
			t.Errorf("in another PID namespace: %+v", b)
		}
	})
}
