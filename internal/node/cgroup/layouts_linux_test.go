package cgroup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/cgroups"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/cgroup/cgrouptest"
	"github.com/podctl/podctl/internal/pod"
)

// hostPods are two pods with a sandbox and a container, and one that waits.
func hostPods() []cgrouptest.Pod {
	id := func(n int) string { return fmt.Sprintf("%064x", n) }
	return []cgrouptest.Pod{
		{UID: "8f73c1d2-0000-4000-8000-000000000001", Class: "besteffort", Processes: map[string][]int{id(1): {101}, id(2): {201, 202}}},
		{UID: strings.Repeat("5e", 16), Processes: map[string][]int{id(5): {501}, id(6): {601}}},
		{UID: "8f73c1d2-0000-4000-8000-000000000003", Class: "burstable"},
	}
}

func podOf(p cgrouptest.Pod) *pod.Pod {
	listed := &pod.Pod{UID: types.UID(p.UID)}
	for id := range p.Processes {
		listed.Containers = append(listed.Containers, &pod.Container{ID: id})
	}
	return listed
}

// Every layout shows the same pods and containers with their numbers, and nothing else: no unit
// whose name begins as that of a pod, no parent of podctl's own, no monitor. A directory
// of the other driver beside that of a pod does not win.
func TestEveryLayout(t *testing.T) {
	cgroups.TestMode = true // the library reads files that are on no cgroup file system
	t.Cleanup(func() { cgroups.TestMode = false })
	for _, l := range cgrouptest.Layouts() {
		t.Run(l.String(), func(t *testing.T) {
			root, pods := cgrouptest.Dir(t), hostPods()
			l.Write(t, root, pods...)
			found, err := Scan(root)
			if err != nil {
				t.Fatal(err)
			}
			wantContainers, wantPods := map[string]string{}, []string{}
			for _, p := range pods {
				wantPods = append(wantPods, l.Group(p))
				for id := range p.Processes {
					wantContainers[id] = l.Container(p, id)
				}
				if uid, ok := PodUID(l.Group(p)); string(uid) != p.UID || !ok {
					t.Errorf("UID of %s is %q, %v", l.Group(p), uid, ok)
				}
			}
			slices.Sort(wantPods)
			delete(found.Containers(), strings.Repeat("0e", 32)) // podman's
			diff(t, "containers", wantContainers, found.Containers())
			diff(t, "pods", wantPods, slices.DeleteFunc(found.Pods(), func(group string) bool {
				_, ok := PodUID(group)
				return !ok
			}))
			stale := l
			stale.Systemd = !l.Systemd
			stale.Write(t, root, cgrouptest.Pod{UID: pods[0].UID, Class: pods[0].Class})
			for _, p := range pods {
				checkPod(t, l, root, p)
			}
		})
	}
}

func checkPod(t *testing.T, l cgrouptest.Layout, root string, p cgrouptest.Pod) {
	t.Helper()
	found, err := ScanPod(root, types.UID(p.UID))
	if err != nil {
		t.Fatal(err)
	}
	group := found.Pod(podOf(p))
	diff(t, "group", l.Group(p), group)
	stat, psi := found.Stat(group), found.PSI(group)
	if stat.WorkingSet == nil || *stat.WorkingSet != cgrouptest.Memory || stat.MemoryLimit == nil || *stat.MemoryLimit != cgrouptest.Limit {
		t.Errorf("%s: %+v", group, stat)
	}
	if kills := found.Pressure(group).OOMKills; kills == nil || *kills != cgrouptest.OOMKills {
		t.Errorf("%s: OOM kills %v", group, kills)
	}
	if l.Version == "v2" && (psi.Memory == nil || psi.Memory.Some != cgrouptest.Stalled) || l.Version != "v2" && psi.Unknown == "" {
		t.Errorf("%s: PSI %+v", group, psi)
	}
	pids, err := found.Processes(group, 100)
	if err != nil || (len(pids) == 0) != (len(p.Processes) == 0) {
		t.Errorf("%s: processes %v, %v", group, pids, err)
	}
}
