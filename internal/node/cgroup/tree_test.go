package cgroup

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

var (
	idA = strings.Repeat("a1", idLength/2)
	idB = strings.Repeat("b2", idLength/2)
)

// tree writes files below a directory that stands for /sys/fs/cgroup.
func tree(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestScanRuntimeNames(t *testing.T) {
	for name, c := range map[string]struct{ container, wantContainer, wantPod string }{
		"containerd": {"memory/kubepods/burstable/podu-1/" + idA, "/kubepods/burstable/podu-1/" + idA, "/kubepods/burstable/podu-1"},
		"containerd, systemd": {
			"memory/kubepods.slice/kubepods-podu_1.slice/cri-containerd-" + idA + ".scope",
			"/kubepods.slice/kubepods-podu_1.slice/cri-containerd-" + idA + ".scope", "/kubepods.slice/kubepods-podu_1.slice",
		},
		"CRI-O":                 {"memory/pods/crio-" + idA, "/pods/crio-" + idA, ""},
		"CRI-O's monitor":       {"memory/pods/crio-conmon-" + idA, "", ""},
		"below another one":     {"memory/pods/" + idB + "/" + idA, "", ""},
		"no id":                 {"memory/pods/" + strings.Repeat("x", idLength), "", ""},
		"no container's pods":   {"memory/pods/podu-1/shell", "", "/pods/podu-1"},
		"a root that begins so": {"memory/podu-1/shell", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := tree(t, map[string]string{c.container + "/cgroup.procs": "1\n"})
			if got := found.Container(idA); got != c.wantContainer {
				t.Errorf("container %q, want %q", got, c.wantContainer)
			}
			if got := found.Pod(&pod.Pod{UID: "u-1", Containers: []*pod.Container{{ID: idA}}}); got != c.wantPod {
				t.Errorf("pod %q, want %q", got, c.wantPod)
			}
		})
	}
}

// Of names that begin as a pod's do only a pod's have a UID.
func TestHostileNamesArePodsOfNobody(t *testing.T) {
	const uid = "8f73c1d2-0000-4000-8000-000000000001"
	for group, want := range map[string]types.UID{
		"/kubepods/pod" + uid: uid, "/kubepods.slice/kubepods-pod8f73c1d2_0000_4000_8000_000000000001.slice": uid,
		"/pod" + uid: "", "/pod8f73c1d2_0000_4000_8000_000000000001.slice": "", "/kubepods/pod" + uid + ".slice": "",
		"/kubepods.slice/pod" + uid: "", "/other.slice/kubepods-pod8f73c1d2_0000_4000_8000_000000000001.slice": "",
		"/kubepods/kubepods-pod8f73c1d2_0000_4000_8000_000000000001.slice": "", "/kubepods.slice/kubepods-pod" + uid + ".slice": "",
		"/kubepods/pod" + uid + "\n": "", "/kubepods/pod" + uid + " ": "", "/kubepods/pod8f73c1d2_0000_4000_8000_000000000001": "",
		"/podctl_8f73c1d2.slice/podctl_8f73c1d2-besteffort.slice": "", "/kubepods/pod..": "", "/": "", "": "",
	} {
		if got, ok := PodUID(group); got != want && ok || ok != (want != "") {
			t.Errorf("%q: %q, %v", group, got, ok)
		}
	}
}

func TestTwoRuntimesHaveAPodOfOneUID(t *testing.T) {
	const uid = "8f73c1d2-0000-4000-8000-000000000001"
	containers := func(ids ...string) *pod.Pod {
		p := &pod.Pod{UID: uid}
		for _, id := range ids {
			p.Containers = append(p.Containers, &pod.Container{ID: id})
		}
		return p
	}
	idC := strings.Repeat("c3", idLength/2)
	both := map[string]string{"memory/a/pod" + uid + "/" + idA + "/x": "", "memory/b/pod" + uid + "/" + idB + "/x": ""}
	other := map[string]string{"memory/a/pod" + uid + "/" + idA + "/x": ""}
	for name, c := range map[string]struct {
		files map[string]string
		pod   *pod.Pod
		want  string
	}{
		"each has its own":                          {both, containers(idC, idB), "/b/pod" + uid},
		"this one's container has exited":           {both, containers(idC), ""},
		"only the other runs":                       {other, containers(idC), ""},
		"this one's is empty":                       {map[string]string{"memory/a/pod" + uid + "/" + idA + "/x": "", "memory/b/pod" + uid + "/x": ""}, containers(idC), "/b/pod" + uid},
		"the runtime does not answer":               {other, containers(), "/a/pod" + uid},
		"it is not known which: no runtime answers": {both, containers(), ""},
		"of a pod with a UID that others have":      {other, &pod.Pod{UID: "x", SharedUID: uid, Containers: []*pod.Container{{ID: idA}}}, "/a/pod" + uid},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tree(t, c.files).Pod(c.pod); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestScanOnePod(t *testing.T) {
	const mine, other = "8f73c1d2-0000-4000-8000-000000000001", "8f73c1d2-0000-4000-8000-000000000002"
	all := tree(t, map[string]string{
		"memory/podctl-a1/pod" + mine + "/" + idA + "/x": "", "memory/podctl-a1/pod" + other + "/" + idB + "/x": "",
		"memory/bare/" + strings.Repeat("c3", idLength/2) + "/x": "",
	})
	one, err := ScanPod(all.root, mine)
	if err != nil || one.Pod(&pod.Pod{UID: mine}) == "" || one.Container(idA) == "" || one.Container(idB) != "" || one.Pod(&pod.Pod{UID: other}) != "" || len(one.containers) != 2 {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestStatBothVersions(t *testing.T) {
	cpu, periods, throttled, working, peak, swap := 1500*time.Millisecond, uint64(40), uint64(10), uint64(3<<20), uint64(5<<20), uint64(4096)
	limit, cores, pids, hits, kills := uint64(64<<20), 0.5, uint64(7), uint64(12), uint64(1)
	want := Stat{CPU: &cpu, Periods: &periods, Throttled: &throttled, CPULimit: &cores, WorkingSet: &working, Swap: &swap, MemoryLimit: &limit, PIDs: &pids}
	pressure := Pressure{LimitHits: &hits, OOMKills: &kills, Peak: &peak}
	for name, files := range map[string]map[string]string{
		"v1": {
			"cpuacct/g/cpuacct.usage": "1500000000\n", "cpu/g/cpu.stat": "nr_periods 40\nnr_throttled 10\nthrottled_time 99\n",
			"cpu/g/cpu.cfs_quota_us": "50000\n", "cpu/g/cpu.cfs_period_us": "100000\n",
			"memory/g/memory.usage_in_bytes": "4194304\n", "memory/g/memory.stat": "inactive_file 1\ntotal_inactive_file 1048576\ntotal_swap 4096\n",
			"memory/g/memory.limit_in_bytes": "67108864\n", "memory/g/memory.failcnt": "12\n",
			"memory/g/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "memory/g/memory.max_usage_in_bytes": "5242880\n",
			"pids/g/pids.current": "7\n", "pids/g/pids.max": "max\n",
		},
		"v2": {
			"cgroup.controllers": "cpu memory pids\n",
			"g/cpu.stat":         "usage_usec 1500000\nnr_periods 40\nnr_throttled 10\nthrottled_usec 9\n", "g/cpu.max": "50000 100000\n",
			"g/memory.current": "4194304\n", "g/memory.stat": "anon 1\ninactive_file 1048576\n", "g/memory.max": "67108864\n", "g/memory.swap.current": "4096\n",
			"g/memory.events": "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n", "g/memory.peak": "5242880\n",
			"g/pids.current": "7\n", "g/pids.max": "max\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := tree(t, files)
			if got := found.Stat("/g"); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
			if got := found.Pressure("/g"); !reflect.DeepEqual(got, pressure) {
				t.Errorf("%+v, want %+v", got, pressure)
			}
		})
	}
}

func TestStatMissingFilesAreUnknown(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"v1, no limits": {
			"memory/g/memory.limit_in_bytes": "9223372036854771712\n", "cpu/g/cpu.cfs_quota_us": "-1\n", "cpu/g/cpu.cfs_period_us": "100000\n",
		},
		"v2, no limits": {"cgroup.controllers": "", "g/memory.max": "max\n", "g/cpu.max": "max 100000\n"},
		"v1, nothing":   {"memory/other": ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := tree(t, files)
			if got := found.Stat("/g"); !reflect.DeepEqual(got, Stat{}) {
				t.Errorf("%+v", got)
			}
			if got := found.Pressure("/g"); !reflect.DeepEqual(got, Pressure{}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A container that runs systemd, and one of crun, have their processes below their
// own cgroup.
func TestHasProcess(t *testing.T) {
	found := tree(t, map[string]string{
		"memory/g/" + idA + "/cgroup.procs": "", "memory/g/" + idA + "/container/cgroup.procs": "4711\n4712\n",
		"memory/g/" + idB + "/cgroup.procs": "",
	})
	if got := found.Process(found.Container(idA)); got != 4711 {
		t.Errorf("%d", got)
	}
	if got := found.Process(found.Container(idB)); got != 0 {
		t.Errorf("%d of an empty cgroup", got)
	}
}
