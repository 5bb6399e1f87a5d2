package live

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Only the directory of a task that nothing else tells of may be forgotten, and only by a
// runtime that answers.
func TestForgottenTaskDirectory(t *testing.T) {
	Each(t, func(t *testing.T, rt *Instance) {
		c := dial(t, rt)
		p := start(t, c, "sleep", "3600")
		defer stopAndRemove(t, c, p)
		task := func(id string) string {
			return "state " + filepath.Join(rt.run, "state/io.containerd.runtime.v2.task/k8s.io", id)
		}
		named := exec.Command("sh", "-c", "read line", "shim-of-named")
		if _, err := named.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := named.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = named.Process.Kill()
			_ = named.Wait()
		}()
		for _, test := range []struct {
			name string
			left Traces
			want bool
		}{
			{"a bare directory", Traces{task("lost1")}, true},
			{"two", Traces{task("lost1"), task("lost2")}, true},
			{"three", Traces{task("lost1"), task("lost2"), task("lost3")}, false},
			{"of a container", Traces{task(p.ContainerID)}, false},
			{"of a sandbox", Traces{task(p.SandboxID)}, false},
			{"of a process", Traces{task("shim-of-named")}, false},
			{"with a mount", Traces{"mount " + rt.run + "/state/io.containerd.runtime.v2.task/k8s.io/lost1/rootfs", task("lost1")}, false},
			{"another state", Traces{"state " + rt.lib + "/root/io.containerd.grpc.v1.cri/sandboxes/lost1"}, false},
		} {
			if got := rt.hasForgotten(test.left); got != test.want {
				t.Errorf("%s: forgotten %v, want %v", test.name, got, test.want)
			}
		}
	})
}

// The cgroup of another runtime's container can be gone, and the container's directory
// with it, when it is asked whose a listed cgroup was.
func TestRemovedCgroupIsNotLeftOver(t *testing.T) {
	rt := &Instance{run: "/run/podctl-dev/none"}
	there := t.TempDir()
	if rt.isOthers(there) {
		t.Errorf("%s is there, and no runtime has its container, but it counts as another's", there)
	}
	if gone := filepath.Join(there, "gone"); !rt.isOthers(gone) {
		t.Errorf("%s is gone, but counts as left over", gone)
	}
}
