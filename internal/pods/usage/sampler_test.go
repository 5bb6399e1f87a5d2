package usage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup/cgrouptest"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// fakeRuntime answers with statistics, and counts how often it is asked.
type fakeRuntime struct {
	containers     []cri.ContainerStats
	sandboxes      []cri.SandboxStats
	err            error
	asked, network int
}

func (r *fakeRuntime) ContainerStats(context.Context) ([]cri.ContainerStats, error) {
	r.asked++
	return r.containers, r.err
}

func (r *fakeRuntime) SandboxStats(context.Context) ([]cri.SandboxStats, error) {
	r.network++
	return r.sandboxes, r.err
}

// machine is a directory that stands for /proc, and one for /sys/fs/cgroup, with
// one pod that has one container.
type machine struct {
	t       *testing.T
	now     time.Time
	runtime fakeRuntime
	sampler Sampler
	pods    []*pod.Pod
}

var (
	containerID = strings.Repeat("c0", 32)
	sandboxID   = strings.Repeat("5a", 32)
)

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, now: start}
	m.sampler = Sampler{Runtime: &m.runtime, Proc: proc.FS(t.TempDir()), Cgroups: t.TempDir(), Now: func() time.Time { return m.now }}
	m.pods = []*pod.Pod{{
		UID: "u", Sandboxes: []*pod.Sandbox{{ID: sandboxID, State: pod.Running}},
		Containers: []*pod.Container{{ID: containerID, State: pod.Running}},
	}}
	m.write(m.sampler.Cgroups, "memory/kept", "")
	return m
}

func (m *machine) write(dir, name, text string) {
	m.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// cgroup gives the container a cgroup with a process, and a network.
func (m *machine) cgroup(cpu time.Duration, netns string) {
	const pid = 70
	group := "podu/" + containerID
	m.write(m.sampler.Cgroups, "memory/"+group+"/cgroup.procs", fmt.Sprintln(pid))
	m.write(m.sampler.Cgroups, "memory/"+group+"/memory.usage_in_bytes", "2048\n")
	m.write(m.sampler.Cgroups, "memory/"+group+"/memory.stat", "total_inactive_file 1024\n")
	m.write(m.sampler.Cgroups, "cpuacct/"+group+"/cpuacct.usage", fmt.Sprintln(cpu.Nanoseconds()))
	m.write(string(m.sampler.Proc), fmt.Sprintf("%d/net/dev", pid), fmt.Sprintf("eth0: %d 0 0 0 0 0 0 0 5 0\n", m.now.Unix()))
	for id, namespace := range map[int]string{1: "net:[1]", pid: netns} {
		link := filepath.Join(string(m.sampler.Proc), fmt.Sprint(id), "ns", "net")
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			m.t.Fatal(err)
		}
		_ = os.Remove(link)
		if err := os.Symlink(namespace, link); err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *machine) snapshot() Snapshot {
	m.t.Helper()
	snap, err := m.sampler.Snapshot(m.t.Context(), m.pods)
	if err != nil {
		m.t.Fatal(err)
	}
	return snap
}

func TestMemoryOfContainerInEveryLayout(t *testing.T) {
	for _, l := range cgrouptest.Layouts() {
		m := newMachine(t)
		m.sampler.Cgroups = cgrouptest.Dir(t)
		m.pods[0].UID = "8f73c1d2-0000-4000-8000-000000000001"
		l.Write(t, m.sampler.Cgroups, cgrouptest.Pod{UID: string(m.pods[0].UID), Class: "burstable", Processes: map[string][]int{containerID: {70}, sandboxID: {71}}})
		if s := m.snapshot().Containers[containerID]; s.Source != FromCgroup || s.Memory == nil || *s.Memory != cgrouptest.Memory {
			t.Errorf("%s: %+v", l, s)
		}
	}
}

func TestHostIsReadBeforeTheRuntimeIsAsked(t *testing.T) {
	m := newMachine(t)
	m.cgroup(time.Second, "net:[2]")
	m.runtime.containers = []cri.ContainerStats{{ID: containerID, CPU: new(time.Hour), WorkingSet: new(uint64(9)), WritableLayer: new(uint64(512))}}
	first := m.snapshot()
	m.now = m.now.Add(2 * time.Second)
	m.cgroup(2*time.Second, "net:[2]")
	second := m.snapshot()
	u := Rates(first, second)[containerID]
	same(t, u.CPU, new(0.5))
	if *u.Memory != 1024 || *u.Disk != 512 {
		t.Errorf("memory %d, disk %d", *u.Memory, *u.Disk)
	}
	of := OfPod(m.pods[0], nil, first, second)
	same(t, of.Rx, new(1.0))
	if u.PSI.Unknown == "" || of.PSI.Unknown == "" {
		t.Errorf("on cgroup v1: %+v, of a pod without a cgroup %+v", u.PSI, of.PSI)
	}
	if m.runtime.asked != 1 || m.runtime.network != 0 {
		t.Errorf("the runtime was asked %d and %d times", m.runtime.asked, m.runtime.network)
	}
	m.now = m.now.Add(statsAge)
	m.snapshot()
	if m.runtime.asked != 2 {
		t.Errorf("writable layers that are %s old are not read again", m.now.Sub(start))
	}
}

// A virtual machine's processes are in no cgroup of the container, which may exist
// and be empty.
func TestRuntimeStatsFillGaps(t *testing.T) {
	for name, empty := range map[string]bool{"no cgroup": false, "an empty cgroup": true} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if empty {
				m.write(m.sampler.Cgroups, "memory/podu/"+containerID+"/cgroup.procs", "")
			}
			answer := func(cpu time.Duration, rx uint64) {
				m.runtime.containers = []cri.ContainerStats{{ID: containerID, CPU: &cpu, At: m.now, WorkingSet: new(uint64(9)), PSI: pod.PSI{IO: &pod.Stall{Some: 5}}}}
				m.runtime.sandboxes = []cri.SandboxStats{{ID: sandboxID, At: m.now, Rx: rx, PSI: pod.PSI{CPU: &pod.Stall{Full: 2}}}}
			}
			answer(time.Second, 100)
			first := m.snapshot()
			m.now = m.now.Add(time.Second)
			answer(1250*time.Millisecond, 300)
			second := m.snapshot()
			u := Rates(first, second)[containerID]
			same(t, u.CPU, new(0.25))
			if *u.Memory != 9 || u.Disk != nil || u.PIDs != nil {
				t.Errorf("%+v", u)
			}
			of := OfPod(m.pods[0], nil, first, second)
			same(t, of.Rx, new(200.0))
			if u.PSI.IO == nil || u.PSI.IO.Some != 5 || of.PSI.CPU == nil || of.PSI.CPU.Full != 2 {
				t.Errorf("PSI %+v, of the pod %+v", u.PSI, of.PSI)
			}
		})
	}
}

func TestHostNetworkIsNotCounted(t *testing.T) {
	m := newMachine(t)
	m.cgroup(time.Second, "net:[1]")
	if n := m.snapshot().Networks; len(n) != 0 || m.runtime.network != 0 {
		t.Errorf("%v, asked %d times", n, m.runtime.network)
	}
}

func TestRuntimeWithoutStatisticsIsNoError(t *testing.T) {
	m := newMachine(t)
	m.runtime.err = fmt.Errorf("x: %w", cri.ErrUnsupported)
	if snap := m.snapshot(); len(snap.Containers) != 0 {
		t.Errorf("%+v", snap)
	}
	m.runtime.err = cri.ErrUnavailable
	m.cgroup(time.Second, "net:[2]")
	m.sampler.tree = nil
	snap, err := m.sampler.Snapshot(t.Context(), m.pods)
	if err == nil || snap.Containers[containerID].CPU == nil {
		t.Errorf("%+v, %v: want the error and what the host shows", snap, err)
	}
}
