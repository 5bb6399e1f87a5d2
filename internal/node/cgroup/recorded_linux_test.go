package cgroup

import (
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/podctl/podctl/internal/node/cgroup/cgrouptest"
	"github.com/podctl/podctl/internal/pod"
)

// A tree that was recorded on a node shows its two pods, their containers and their numbers.
func TestRecordedTree(t *testing.T) {
	cgroups.TestMode = true // the library reads files that are on no cgroup file system
	t.Cleanup(func() { cgroups.TestMode = false })
	archive, err := txtar.ParseFile("testdata/node-v2-systemd.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root := cgrouptest.Dir(t)
	for _, f := range archive.Files {
		file := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	const parent = "/podctl_6265ef3765f56c1a.slice/podctl_6265ef3765f56c1a-burstable.slice/podctl_6265ef3765f56c1a-burstable-pod"
	const web, other = parent + "7ae16147_2e89_806a_9dc5_f3b23ab3cf66.slice", parent + "fba92154_eebe_8a76_b54b_58559df7f9a5.slice"
	diff(t, "pods", []string{web, other}, found.Pods())
	of := map[string]int{}
	for _, group := range found.Containers() {
		of[path.Dir(group)]++
	}
	diff(t, "containers", map[string]int{web: 2, other: 2}, of)
	p := &pod.Pod{UID: "7ae16147-2e89-806a-9dc5-f3b23ab3cf66", Containers: []*pod.Container{{ID: "6aeba6bcad476f228dc657b93057584a7f8c39cf2cac0c3a0dbdafb052629496"}}}
	diff(t, "group", web, found.Pod(p))
	diff(t, "process", 5536, found.Process(found.Container(p.Containers[0].ID)))
	stat := found.Stat(web)
	diff(t, "numbers", Stat{
		CPU: new(29814418 * time.Microsecond), Periods: new(uint64(0)), Throttled: new(uint64(0)),
		WorkingSet: new(uint64(5234688 - 16384)), MemoryLimit: new(uint64(32 << 20)), Swap: new(uint64(0)), PIDs: new(uint64(8)),
	}, stat)
	diff(t, "pressure", Pressure{LimitHits: new(uint64(22)), OOMKills: new(uint64(1)), Peak: new(uint64(32 << 20))}, found.Pressure(web))
	diff(t, "stalls", &pod.Stall{}, found.PSI(web).Memory)
}
