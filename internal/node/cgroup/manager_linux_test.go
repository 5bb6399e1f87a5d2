package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// onThisHost is a Manager of the host's real hierarchy, with a root of its
// own, which is gone when the test ends.
func onThisHost(t *testing.T) *Manager {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to make cgroups")
	}
	m, err := New(Options{Root: fmt.Sprintf("podctl-test-%d-%s", os.Getpid(), strings.ToLower(t.Name()[4:12]))})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Ensure(t.Context(), bestEffortPod("probe")); err != nil {
		t.Skipf("cannot make cgroups here: %v", err)
	}
	t.Cleanup(func() {
		c, err := m.open(group{Cgroupfs, name{m.root}}, Limits{})
		if err == nil {
			err = c.Destroy()
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err := m.Remove(t.Context(), "probe"); err != nil {
		t.Fatal(err)
	}
	if err := m.RemoveEmptyParents(); err != nil {
		t.Fatal(err)
	}
	return m
}

// dirs are the directories of a cgroup, in all hierarchies.
func dirs(t *testing.T, m *Manager, n name) []string {
	t.Helper()
	c, err := m.open(group{Cgroupfs, n}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return existing(c)
}

// control reads a file of the cgroup, of v1's controller or of v2; missing
// says that this host has no such file.
func control(t *testing.T, m *Manager, n name, controller, v1File, v2File string) (value string, missing bool) {
	t.Helper()
	c, err := m.open(group{Cgroupfs, n}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.GetPaths()[controller], v1File)
	if m.unified {
		file = filepath.Join(c.GetPaths()[""], v2File)
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", true
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b)), false
}

func TestEnsureSetsPodAndParentLimits(t *testing.T) {
	m := onThisHost(t)
	for _, p := range []*v1.Pod{guaranteedPod("g"), burstablePod("b"), bestEffortPod("e")} {
		for range 2 {
			if err := m.Ensure(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	root := name{m.root}
	tests := []struct {
		n                      name
		controller, v1f, v2f   string
		onV1, onV2, whatItMean string
	}{
		{root.child("podg"), "cpu", "cpu.shares", "cpu.weight", "512", "20", "guaranteed shares"},
		{root.child("podg"), "cpu", "cpu.cfs_quota_us", "cpu.max", "50000", "50000 100000", "guaranteed quota"},
		{root.child("podg"), "memory", "memory.limit_in_bytes", "memory.max", "67108864", "67108864", "guaranteed memory"},
		{root.child(burstable).child("podb"), "cpu", "cpu.shares", "cpu.weight", "256", "10", "burstable shares"},
		{root.child(burstable).child("podb"), "cpu", "cpu.cfs_quota_us", "cpu.max", "-1", "max 100000", "burstable quota"},
		{root.child(besteffort).child("pode"), "cpu", "cpu.shares", "cpu.weight", "2", "1", "best-effort shares"},
		{root.child(besteffort), "cpu", "cpu.shares", "cpu.weight", "2", "1", "shares of the parent"},
	}
	for _, tt := range tests {
		got, missing := control(t, m, tt.n, tt.controller, tt.v1f, tt.v2f)
		want := tt.onV1
		if m.unified {
			want = tt.onV2
		}
		if missing {
			t.Logf("%s: this host has no controller %s", tt.whatItMean, tt.controller)
			continue
		}
		diff(t, tt.whatItMean, want, got)
	}
	listed, err := m.List()
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "listed", []types.UID{"b", "e", "g"}, listed)
}

func TestEnsureKeepsExistingCgroup(t *testing.T) {
	m := onThisHost(t)
	p, n := burstablePod("x"), name{m.root, burstable, "podx"}
	if err := m.Ensure(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	c, err := m.open(group{Cgroupfs, n}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Set(&cgroups.Resources{CpuShares: m.v1Only(700), CpuWeight: m.v2Only(700), SkipDevices: true}); err != nil {
		t.Fatal(err)
	}
	if err := m.Ensure(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got, missing := control(t, m, n, "cpu", "cpu.shares", "cpu.weight"); !missing {
		diff(t, "weight", "700", got)
	}
}

func TestBurstableWeightIsSumOfRequests(t *testing.T) {
	m := onThisHost(t)
	weighs := func(when, onV1, onV2 string) {
		t.Helper()
		got, missing := control(t, m, name{m.root, burstable}, "cpu", "cpu.shares", "cpu.weight")
		if missing {
			t.Skip("this host has no cpu controller")
		}
		want := onV1
		if m.unified {
			want = onV2
		}
		diff(t, when, want, got)
	}
	for _, p := range []*v1.Pod{burstablePod("a"), guaranteedPod("g"), bestEffortPod("e"), burstablePod("b")} {
		if err := m.Ensure(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	weighs("two pods", "512", "20")

	// Another podctl knows nothing of these pods, and adds one of its own.
	other, err := New(Options{Root: m.root})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Ensure(t.Context(), burstablePod("c")); err != nil {
		t.Fatal(err)
	}
	weighs("three pods of two podctls", "768", "30")
	if err := m.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	weighs("one is gone", "512", "20")
	for _, uid := range []types.UID{"b", "c"} {
		if err := other.Remove(t.Context(), uid); err != nil {
			t.Fatal(err)
		}
	}
	weighs("none is left", "2", "1")
}

func TestRemoveKillsRemainingProcesses(t *testing.T) {
	m := onThisHost(t)
	p := bestEffortPod("x")
	if err := m.Ensure(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	n := name{m.root, besteffort, "podx"}
	// A container that the runtime forgot, with a process in it.
	if err := m.ensure(group{Cgroupfs, n}.child("forgotten"), Limits{}, isParent, nil); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // gone already, if the test passes
	for _, dir := range dirs(t, m, n.child("forgotten")) {
		if err := cgroups.WriteCgroupProc(dir, cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()

	for range 2 {
		if err := m.Remove(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-died; err == nil || err.Error() != "signal: killed" {
		t.Errorf("the process ended with %v", err)
	}
	if left := dirs(t, m, n); left != nil {
		t.Errorf("left: %v", left)
	}
	if err := m.RemoveEmptyParents(); err != nil {
		t.Fatal(err)
	}
	if left := dirs(t, m, name{m.root}); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestRemoveSparesPodctl(t *testing.T) {
	if killable(map[int]bool{7: true, os.Getpid(): true}) == nil {
		t.Error("podctl would kill itself")
	}
	if killable(map[int]bool{7: true, 0: true}) == nil {
		t.Error("podctl would kill its own process group")
	}
	if err := killable(map[int]bool{7: true}); err != nil {
		t.Error(err)
	}
}

func TestRemoveEmptyParentsOfPodctl(t *testing.T) {
	m := onThisHost(t)
	// Another program's root, with our pod in it.
	c, err := m.open(group{Cgroupfs, name{m.root}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(-1); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []string{"x", "y"} {
		if err := m.Ensure(t.Context(), burstablePod(uid)); err != nil {
			t.Fatal(err)
		}
	}
	step := func(what string, wantBurstable bool) {
		t.Helper()
		if err := m.RemoveEmptyParents(); err != nil {
			t.Fatal(err)
		}
		if got := dirs(t, m, name{m.root, burstable}) != nil; got != wantBurstable {
			t.Errorf("%s: burstable is there: %v, want %v", what, got, wantBurstable)
		}
		if dirs(t, m, name{m.root}) == nil {
			t.Errorf("%s: another program's root was removed", what)
		}
	}
	step("two pods", true)
	if err := m.Remove(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	step("one pod", true)
	if err := m.Remove(t.Context(), "y"); err != nil {
		t.Fatal(err)
	}
	step("no pod", false)
}

// A node changes its driver: what the other driver's tree has goes with the pods, and its root.
func TestTreeOfOtherDriverIsSwept(t *testing.T) {
	m := onThisHost(t)
	parent := group{Systemd, name{m.root, burstable}}
	makeOther := func(uid string) {
		t.Helper()
		if err := m.ensureWithParents(parent, parent.child("pod"+uid), burstablePod(uid)); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(when string) {
		t.Helper()
		trees, err := m.trees()
		if err != nil || slices.Contains(trees, Systemd) {
			t.Errorf("%s: trees %v, %v", when, trees, err)
		}
	}
	makeOther("x")
	makeOther("y")
	if listed, err := m.List(); err != nil || !slices.Equal(listed, []types.UID{"x", "y"}) {
		t.Errorf("listed %v, %v", listed, err)
	}
	if err := m.Ensure(t.Context(), burstablePod("x")); err != nil {
		t.Fatal(err)
	}
	if l, err := m.leftovers("x"); err != nil || len(l) != 1 || l[0].driver != Cgroupfs {
		t.Errorf("x: %+v, %v", l, err)
	}
	l, ok, err := m.Leftover("y")
	if err != nil || !ok {
		t.Fatalf("y: %v, %v", ok, err)
	}
	if err := m.RemoveLeftover(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	gone("its leftovers are removed")
	makeOther("x")
	if err := m.Ensure(t.Context(), burstablePod("x")); err != nil {
		t.Fatal(err)
	}
	gone("its pod has another cgroup")
	makeOther("x")
	if err := m.Remove(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if err := m.RemoveEmptyParents(); err != nil {
		t.Fatal(err)
	}
	gone("its pod is removed")
}

// Each pod has the driver of its runtime handler.
func TestDriverOfPod(t *testing.T) {
	m, err := New(Options{Root: "r", Driver: Cgroupfs, DriverOf: func(p *v1.Pod) Driver {
		if p.UID == "s" {
			return Systemd
		}
		return Cgroupfs
	}})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "cgroupfs", "/r/burstable/podc", m.Parent(burstablePod("c")))
	diff(t, "systemd", "/r.slice/r-burstable.slice/r-burstable-pods.slice", m.Parent(burstablePod("s")))
}

// A podctl of the same run directory has the same lock; one of another has not.
func TestEnsureWhileParentsAreRemoved(t *testing.T) {
	t.Run("same lock", func(t *testing.T) { testParentsVanish(t, (*Manager).RemoveEmptyParents) })
	t.Run("other lock", func(t *testing.T) {
		testParentsVanish(t, func(m *Manager) error {
			return m.removeEmptyParents(func(Driver) bool { return true })
		})
	})
}

func testParentsVanish(t *testing.T, remove func(*Manager) error) {
	m := onThisHost(t)
	stop := make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = remove(m)
			}
		}
	})
	defer other.Wait()
	defer close(stop)
	for i := range 30 {
		p := []*v1.Pod{bestEffortPod("x"), burstablePod("x")}[i%2]
		if err := m.Ensure(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		parent := parentOf(m.root, p)
		for _, n := range []name{{m.root}, parent, parent.child("podx")} {
			c, err := m.open(group{Cgroupfs, n}, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range c.GetPaths() {
				if !marked(dir) {
					t.Fatalf("%s was not made", dir)
				}
			}
		}
		if shares, missing := control(t, m, parent, "cpu", "cpu.shares", "cpu.weight"); i%2 == 0 && !missing && shares != "2" && shares != "1" {
			t.Fatalf("best-effort pods have a weight of %s", shares)
		}
		if err := m.Remove(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadLimitsOfHostVersion(t *testing.T) {
	l := Limits{CPUShares: 1024, CPUQuota: 50000, CPUPeriod: 100000, Memory: 64 << 20}
	for unified, want := range map[bool][2]uint64{false: {1024, 0}, true: {0, 39}} {
		r := (&Manager{unified: unified}).resources(l, nil)
		diff(t, "shares and weight", want, [2]uint64{r.CpuShares, r.CpuWeight})
		diff(t, "the same on both", []int64{50000, 100000, 64 << 20}, []int64{r.CpuQuota, int64(r.CpuPeriod), r.Memory})
	}
}

// The UIDs of the pods of others are whatever their creator wrote, and those that bare
// pods are given have a '_'.
func TestInvalidUIDsHaveNoCgroup(t *testing.T) {
	m := onThisHost(t)
	if err := m.Ensure(t.Context(), bestEffortPod("u")); err != nil {
		t.Fatal(err)
	}
	made := name{m.root, besteffort}.child(podPrefix + "u")
	for _, uid := range []string{"u_default_web", "x/../podu", "../besteffort/podu", "", strings.Repeat("u", 300)} {
		if uid != "" && len(uid) < 255 && m.Ensure(t.Context(), bestEffortPod(uid)) == nil {
			t.Errorf("%q: a cgroup is made", uid)
		}
		if err := m.Remove(t.Context(), types.UID(uid)); err != nil {
			t.Errorf("%.20q: %v", uid, err)
		}
	}
	if len(dirs(t, m, made)) == 0 {
		t.Error("the cgroup of another pod was removed")
	}
	if err := m.Remove(t.Context(), "u"); err != nil {
		t.Fatal(err)
	}
}

func TestPageSize(t *testing.T) {
	for s, want := range map[string]int64{"2MB": 2 << 20, "1GB": 1 << 30, "64KB": 64 << 10, "5B": 5, "": 0, "MB": 0, "2XB": 0} {
		diff(t, s, want, pageSize(s))
	}
}
