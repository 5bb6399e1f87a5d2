package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/podctl/podctl/internal/node/cgroup"
	runtimepod "github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/test/live"
)

// An agent removes the cgroup of a pod of a killed agent that somebody has removed from
// the runtime, with its files: below the runtime's own root, which other tests do not
// use.
func TestCgroupOfRemovedPodIsSwept(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		flags := a.flags()
		flags = append(slices.Clone(flags[:slices.Index(flags, "--cgroup-root")]), "agent", "--manifests", a.path("manifests"), "--drain")
		uid := uuid.NewUUID() // another runtime's cgroup of such a pod is not looked at
		a.put("web.yaml", strings.Replace(pod("web", server, brief), "{name: web}", fmt.Sprintf("{name: web, uid: %s}", uid), 1))
		killed := a.command("", exec.Command(binary, flags...))
		killed.prints("c started") // else the runtime may call the start off
		pods, err := a.client.ListPods(t.Context())
		if err != nil || len(pods) != 1 || pods[0].UID != uid {
			t.Fatalf("pods %v: %v", pods, err)
		}
		killed.signal(syscall.SIGKILL)
		killed.wait()
		for _, remove := range []func() error{
			func() error { return a.client.StopPodSandbox(t.Context(), a.sandboxes()["web"]) },
			func() error { return a.client.RemovePodSandbox(t.Context(), pods[0].Sandboxes[0].ID) },
			func() error { return os.RemoveAll(a.path("root/pods/" + string(uid))) },
			func() error { return os.RemoveAll(filepath.Join(a.path("logs"), "default_web_"+string(uid))) },
		} {
			if err := remove(); err != nil {
				t.Fatal(err)
			}
		}
		a.remove("web.yaml")
		if cgroupOf(t, uid) == "" {
			t.Fatal("no cgroup is left of the pod")
		}
		next := a.command("", exec.Command(binary, flags...))
		eventually(t, "the cgroup is removed", func() bool { return cgroupOf(t, uid) == "" }, a.outputs)
		next.ends(syscall.SIGTERM, 0)
	})
}

// cgroupOf returns the path of a pod's cgroup, "" if there is none.
func cgroupOf(t *testing.T, uid types.UID) string {
	t.Helper()
	tree, err := cgroup.ScanPod(cgroup.Mounts, uid)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Pod(&runtimepod.Pod{UID: uid})
}
