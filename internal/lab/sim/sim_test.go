package sim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

// TestIdempotence: stopping and removing what is gone, or down, is no error;
// asking for its status is NotFound.
func TestIdempotence(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		ctx := t.Context()
		pod := sandboxConfig("p")
		sb := n.runPod(pod)
		id := n.create(sb, pod, containerConfig("sleep", "60"))
		n.start(id)
		for range 2 {
			for _, f := range []func() error{
				func() error {
					_, err := n.rt.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: sb})
					return err
				},
				func() error {
					_, err := n.rt.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id})
					return err
				},
				func() error {
					_, err := n.rt.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
					return err
				},
				func() error {
					_, err := n.rt.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb})
					return err
				},
			} {
				if err := f(); err != nil {
					t.Error(err)
				}
			}
		}
		if _, err := n.rt.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id}); status.Code(err) != codes.NotFound {
			t.Errorf("status of a removed container: %v", err)
		}
		if _, err := n.rt.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sb}); status.Code(err) != codes.NotFound {
			t.Errorf("status of a removed sandbox: %v", err)
		}
		if _, err := n.rt.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); status.Code(err) != codes.NotFound {
			t.Errorf("start of a removed container: %v", err)
		}
	})
}

// TestNamesAreReserved until what bears them is removed.
func TestNamesAreReserved(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		ctx := t.Context()
		pod := sandboxConfig("p")
		sb := n.runPod(pod)
		_, err := n.rt.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: pod})
		if status.Code(err) != codes.Unknown || !strings.Contains(err.Error(), `failed to reserve sandbox name "p_default_uid-p_0"`) {
			t.Errorf("second sandbox of one name: %v", err)
		}
		n.create(sb, pod, containerConfig())
		_, err = n.rt.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: sb, Config: containerConfig(), SandboxConfig: pod})
		if !strings.Contains(status.Convert(err).Message(), `failed to reserve container name "c_p_default_uid-p_0"`) {
			t.Errorf("second container of one name: %v", err)
		}
		pod.Metadata.Attempt = 1
		n.runPod(pod)
		if _, err := n.rt.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb}); err != nil {
			t.Fatal(err)
		}
		pod.Metadata.Attempt = 0
		n.runPod(pod)
	})
}

// TestIPs come from a pool and return to it; host-network pods have none.
func TestIPs(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		ip := func(sb string) string {
			resp, err := n.rt.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sb})
			if err != nil {
				t.Fatal(err)
			}
			return resp.Status.Network.Ip
		}
		a, b := n.runPod(sandboxConfig("a")), n.runPod(sandboxConfig("b"))
		if ip(a) != "10.88.0.2" || ip(b) != "10.88.0.3" {
			t.Errorf("IPs %q and %q", ip(a), ip(b))
		}
		if _, err := n.rt.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: a}); err != nil {
			t.Fatal(err)
		}
		if got := ip(a); got != "" {
			t.Errorf("a stopped sandbox has the IP %q", got)
		}
		if got := ip(n.runPod(sandboxConfig("c"))); got != "10.88.0.2" {
			t.Errorf("third pod has %q, want the address given back", got)
		}
		host := sandboxConfig("host")
		host.Linux = &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
			NamespaceOptions: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE},
		}}
		n.sim.SetNetwork("cni plugin not initialized")
		if got := ip(n.runPod(host)); got != "" {
			t.Errorf("host-network pod has the IP %q", got)
		}
		if _, err := n.rt.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: sandboxConfig("d")}); err == nil {
			t.Error("a pod started without a network")
		}
	})
}

// TestListFilters: id, state, labels and sandbox, all at once.
func TestListFilters(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		ctx := t.Context()
		a, b := sandboxConfig("a"), sandboxConfig("b")
		sa, sb := n.runPod(a), n.runPod(b)
		ca := n.create(sa, a, containerConfig())
		cfg := containerConfig()
		cfg.Labels = map[string]string{"app": "b", "tier": "x"}
		n.start(n.create(sb, b, cfg))
		for name, c := range map[string]struct {
			filter *runtimeapi.ContainerFilter
			want   int
		}{
			"none":    {nil, 2},
			"id":      {&runtimeapi.ContainerFilter{Id: ca}, 1},
			"sandbox": {&runtimeapi.ContainerFilter{PodSandboxId: sb}, 1},
			"state":   {&runtimeapi.ContainerFilter{State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING}}, 1},
			"label":   {&runtimeapi.ContainerFilter{LabelSelector: map[string]string{"app": "b"}}, 1},
			"labels":  {&runtimeapi.ContainerFilter{LabelSelector: map[string]string{"app": "b", "tier": "y"}}, 0},
			"both":    {&runtimeapi.ContainerFilter{Id: ca, PodSandboxId: sb}, 0},
		} {
			resp, err := n.rt.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: c.filter})
			if err != nil || len(resp.Containers) != c.want {
				t.Errorf("containers by %s: %d, want %d (%v)", name, len(resp.GetContainers()), c.want, err)
			}
		}
		if _, err := n.rt.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: sb}); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			filter *runtimeapi.PodSandboxFilter
			want   int
		}{
			"none":  {nil, 2},
			"id":    {&runtimeapi.PodSandboxFilter{Id: sa}, 1},
			"state": {&runtimeapi.PodSandboxFilter{State: &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_NOTREADY}}, 1},
			"label": {&runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"io.kubernetes.pod.uid": "uid-a"}}, 1},
		} {
			resp, err := n.rt.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: c.filter})
			if err != nil || len(resp.Items) != c.want {
				t.Errorf("sandboxes by %s: %d, want %d (%v)", name, len(resp.GetItems()), c.want, err)
			}
		}
	})
}

// TestLogs: lines in the CRI's format, and a new file after ReopenContainerLog.
func TestLogs(t *testing.T) {
	dir := t.TempDir()
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		pod := sandboxConfig("p")
		pod.LogDirectory = dir
		id := n.create(n.runPod(pod), pod, containerConfig("sh", "-c", "echo one; echo two >&2; echo -n half; sleep 5; echo three"))
		n.start(id)
		time.Sleep(time.Second)
		name := filepath.Join(dir, "c", "0.log")
		if got := n.status(id).LogPath; got != name {
			t.Errorf("log path %q", got)
		}
		if err := os.Rename(name, name+".1"); err != nil {
			t.Fatal(err)
		}
		if _, err := n.rt.ReopenContainerLog(t.Context(), &runtimeapi.ReopenContainerLogRequest{ContainerId: id}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		stamp := "2000-01-01T00:00:0"
		old, _ := os.ReadFile(name + ".1")
		for i, want := range []string{" stdout F one", " stderr F two", " stdout P half"} {
			line := strings.Split(string(old), "\n")[i]
			if !strings.HasSuffix(line, want) || len(line) < len(stamp) {
				t.Errorf("line %q, want %q", line, want)
			}
		}
		if data, _ := os.ReadFile(name); !strings.HasSuffix(string(data), " stdout F three\n") {
			t.Errorf("new file: %q", data)
		}
	})
}

// TestImages: everything is there unless a script says otherwise.
func TestImages(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		ctx := t.Context()
		refused := status.Error(codes.Unknown, "pull access denied")
		n.sim.SetImage("slow", sim.ImageScript{Absent: true, PullTakes: time.Minute})
		n.sim.SetImage("private:1", sim.ImageScript{Absent: true, PullErr: refused})
		id := func(ref string) string {
			resp, err := n.img.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
			if err != nil {
				t.Fatal(err)
			}
			return resp.GetImage().GetId()
		}
		if id("busybox") == "" || id("busybox") != id("docker.io/library/busybox:latest") || id(id("busybox")) != id("busybox") {
			t.Error("busybox is not found by its names")
		}
		if id("slow") != "" || id("private:1") != "" {
			t.Error("an absent image is there")
		}
		start := time.Now()
		resp, err := n.img.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "slow"}})
		if err != nil || resp.ImageRef != id("slow") || time.Since(start) != time.Minute {
			t.Errorf("pull: %v, %v after %s", resp, err, time.Since(start))
		}
		if _, err := n.img.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "private:1"}}); status.Convert(err).Message() != "pull access denied" {
			t.Errorf("pull of a private image: %v", err)
		}
		pod := sandboxConfig("p")
		cfg := containerConfig()
		cfg.Image.Image = "private:1"
		_, err = n.rt.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: n.runPod(pod), Config: cfg, SandboxConfig: pod})
		if status.Code(err) != codes.NotFound {
			t.Errorf("container of an absent image: %v", err)
		}
	})
}
