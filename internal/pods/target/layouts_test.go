package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/cgroup/cgrouptest"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
)

// In every layout a pod is named by its cgroup, those of its containers and their processes, and
// not by units of other programs, nor by a cgroup with its UID below another root.
func TestEveryLayout(t *testing.T) {
	const uid = "8f73c1d2-0000-4000-8000-000000000001"
	boxID, appID := strings.Repeat("0a", 32), strings.Repeat("1b", 32)
	for _, l := range cgrouptest.Layouts() {
		t.Run(l.String(), func(t *testing.T) {
			mounts, procs := cgrouptest.Dir(t), cgrouptest.Dir(t)
			p := cgrouptest.Pod{UID: uid, Class: "burstable", Processes: map[string][]int{boxID: {30}, appID: {40}}}
			l.Write(t, mounts, p)
			other := l
			other.Root = "other"
			twin := cgrouptest.Pod{UID: uid, Class: "burstable", Processes: map[string][]int{strings.Repeat("2c", 32): {60}}}
			other.Write(t, mounts, twin)
			for pid, group := range map[string]string{"40": l.Container(p, appID), "41": l.Group(p), "60": other.Container(twin, strings.Repeat("2c", 32)), "61": other.Group(twin)} {
				write(t, procs, pid+"/stat", pid+" (app) S 1 1")
				write(t, procs, pid+"/status", "")
				write(t, procs, pid+"/cgroup", l.Proc(group))
			}
			locator := &Locator{Cgroups: mounts, Procs: proc.FS(procs), Pods: []*view.Pod{{Metadata: view.Metadata{UID: uid, Namespace: "default", Name: "web"}, Runtime: &pod.Pod{
				UID: types.UID(uid), Namespace: "default", Name: "web",
				Sandboxes: []*pod.Sandbox{{ID: boxID}}, Containers: []*pod.Container{{ID: appID, Name: "app"}},
			}}}}
			mounted := "/sys/fs/cgroup"
			if l.Version != "v2" {
				mounted += "/memory"
			}
			for word, want := range map[string]string{
				"pid:40": "default/web/app", "pid:41": "default/web", "pid:60": "", "pid:61": "",
				"cgroup:" + l.Group(p):                                    "default/web",
				"cgroup:" + mounted + l.Group(p):                          "default/web",
				"cgroup:" + l.Container(p, boxID):                         "default/web",
				"cgroup:" + l.Container(p, appID):                         "default/web/app",
				"cgroup:" + l.Container(p, appID) + "/" + l.Group(p):      "default/web/app",
				"cgroup:" + mounted + l.Container(p, appID) + "/nested":   "default/web/app",
				"cgroup:" + filepath.Dir(l.Group(p)):                      "",
				"cgroup:" + other.Group(twin):                             "",
				"cgroup:/user.slice/user-1000.slice/pod" + uid + ".slice": "",
			} {
				property, _ := ParseProperty(word)
				found, err := locator.Find(t.Context(), property)
				got := ""
				if err == nil {
					got = found[0].DisplayName()
				}
				if got != want {
					t.Errorf("%s: %q, %v, want %q", word, got, err, want)
				}
			}
		})
	}
}

// write writes a file below root.
func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
