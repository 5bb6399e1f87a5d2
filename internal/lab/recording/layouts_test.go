package recording

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/cgroup/cgrouptest"
	"github.com/podctl/podctl/internal/sys/proc"
)

// In every layout the recorded cgroups of a container and its pod are found where they were, with
// the same numbers.
func TestCgroupsInEveryLayout(t *testing.T) {
	id := strings.Repeat("1b", 32)
	for _, l := range cgrouptest.Layouts() {
		t.Run(l.String(), func(t *testing.T) {
			mounts, procs := cgrouptest.Dir(t), cgrouptest.Dir(t)
			p := cgrouptest.Pod{UID: "8f73c1d2-0000-4000-8000-000000000001", Class: "burstable", Processes: map[string][]int{id: {40}}}
			l.Write(t, mounts, p)
			if err := os.Mkdir(filepath.Join(procs, "40"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(procs, "40/cgroup"), []byte(l.Proc(l.Container(p, id))), 0o600); err != nil {
				t.Fatal(err)
			}
			files, err := ReadCgroups(proc.FS(procs), mounts, []int{40})
			if err != nil {
				t.Fatal(err)
			}
			_, recorded, err := (&Recording{files: files}).WriteFiles(t.Context(), cgrouptest.Dir(t))
			if err != nil {
				t.Fatal(err)
			}
			before, err := cgroup.Scan(mounts)
			if err != nil {
				t.Fatal(err)
			}
			found, err := cgroup.Scan(recorded)
			if err != nil || found.Container(id) != l.Container(p, id) {
				t.Fatalf("%q, %v", found.Container(id), err)
			}
			for _, group := range []string{l.Container(p, id), l.Group(p)} {
				if got, want := found.Stat(group), before.Stat(group); got.WorkingSet == nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %+v, want %+v", group, got, want)
				}
				if got, want := found.Pressure(group), before.Pressure(group); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %+v, want %+v", group, got, want)
				}
			}
		})
	}
}
