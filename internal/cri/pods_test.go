package cri

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// TestListPods: sandboxes and containers of one UID are one pod, newest first,
// without its manifest.
func TestListPods(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		ctx := t.Context()
		if pods, err := c.ListPods(ctx); len(pods) != 0 || err != nil {
			t.Errorf("empty runtime: %v, %v", pods, err)
		}
		sb0, c0 := runPod(t, c, "a", "true")
		time.Sleep(time.Second)
		if err := c.StopPodSandbox(ctx, sb0); err != nil {
			t.Fatal(err)
		}
		runPod(t, c, "b", "sleep", "60")
		cfg := sandboxConfig("a", 1)
		sb1 := must(t)(c.RunPodSandbox(ctx, cfg, "runc"))
		c1 := must(t)(c.CreateContainer(ctx, sb1, containerConfig("a", "c", 1), cfg))

		pods, err := c.ListPods(ctx)
		if err != nil || len(pods) != 2 || pods[0].Name != "a" || pods[1].Name != "b" {
			t.Fatalf("%v, %v", pods, err)
		}
		a := pods[0]
		if a.UID != "uid-a" || a.Namespace != "default" || len(a.Sandboxes) != 2 || len(a.Containers) != 2 {
			t.Fatalf("%+v", a)
		}
		want := &pod.Sandbox{ID: sb1, Attempt: 1, State: pod.Running, RuntimeHandler: "runc", Labels: cfg.Labels, Owner: "agent", HasManifest: true, CreatedAt: a.Sandboxes[0].CreatedAt}
		if d := cmp.Diff(want, a.Sandboxes[0]); d != "" {
			t.Errorf("newest sandbox: %s", d)
		}
		if s := a.Sandboxes[1]; s.ID != sb0 || s.State != pod.Exited {
			t.Errorf("older sandbox %+v", s)
		}
		if n := a.Containers[0]; n.ID != c1 || n.State != pod.Created || n.SandboxID != sb1 || n.Attempt != 1 || n.Hash != "beef" || n.Image != "busybox" || n.ImageID == "" {
			t.Errorf("newest container %+v", n)
		}
		if o := a.Containers[1]; o.ID != c0 || o.State != pod.Exited {
			t.Errorf("older container %+v", o)
		}
		one, err := c.ListPod(ctx, "uid-a")
		if d := cmp.Diff(a, one); d != "" || err != nil {
			t.Errorf("ListPod differs: %v\n%s", err, d)
		}
		if none, err := c.ListPod(ctx, "uid-x"); none != nil || err != nil {
			t.Errorf("absent pod: %v, %v", none, err)
		}
	})
}

// TestListPodAgreesWithListPods also on what was made by hand, without labels.
func TestListPodAgreesWithListPods(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		ctx := t.Context()
		bare := func(name, uid string) (*runtimeapi.PodSandboxConfig, string) {
			cfg := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "test", Uid: uid}}
			return cfg, must(t)(c.RunPodSandbox(ctx, cfg, ""))
		}
		container := func(sb string, cfg *runtimeapi.PodSandboxConfig, name string, labels map[string]string) {
			ct := containerConfig("", name, 0)
			ct.Labels = labels
			must(t)(c.CreateContainer(ctx, sb, ct, cfg))
		}
		cfg, sb := bare("one", "uid-one")
		container(sb, cfg, "unlabelled", nil)
		container(sb, cfg, "labelled", map[string]string{pod.UIDLabel: "uid-one"})
		container(sb, cfg, "elsewhere", map[string]string{pod.UIDLabel: "uid-other"})
		cfg, sb = bare("two", "")
		container(sb, cfg, "in-two", nil)
		sb, _ = runPod(t, c, "three", "sleep", "36000")
		container(sb, sandboxConfig("three", 0), "stranger", nil)
		crio := func(name string, annotations map[string]string) {
			cfg := &runtimeapi.PodSandboxConfig{
				Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "test", Uid: "uid-" + name}, Annotations: annotations,
				Labels: map[string]string{pod.UIDLabel: "uid-" + name, pod.ContainerNameLabel: "POD"}, // CRI-O adds them
			}
			container(must(t)(c.RunPodSandbox(ctx, cfg, "")), cfg, "c", nil)
		}
		for _, name := range []string{"twin", "sibling"} {
			cfg, sb = bare(name, "uid-of-both")
			container(sb, cfg, "unlabelled", nil)
			container(sb, cfg, "labelled", map[string]string{pod.UIDLabel: "uid-of-both"})
		}
		labelled := sandboxConfig("labelled", 0)
		labelled.Metadata.Uid, labelled.Labels[pod.UIDLabel] = "uid-of-both", "uid-of-both"
		container(must(t)(c.RunPodSandbox(ctx, labelled, "")), labelled, "c", map[string]string{pod.UIDLabel: "uid-of-both"})
		crio("crictl's", nil)
		crio("podctl's", map[string]string{pod.OwnerAnnotation: "agent"})

		pods, err := c.ListPods(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, p := range pods {
			one, err := c.ListPod(ctx, p.UID)
			if d := cmp.Diff(p, one); d != "" || err != nil {
				t.Errorf("pod %s %q: %v\n%s", p.Name, p.UID, err, d)
			}
			got[p.Name] = len(p.Containers)
		}
		// "" is the pod of the container labelled for uid-other.
		if d := cmp.Diff(map[string]int{"one": 2, "two": 1, "three": 1, "": 1, "twin": 2, "sibling": 2, "labelled": 1, "crictl's": 1, "podctl's": 0}, got); d != "" {
			t.Errorf("containers by pod: %s", d)
		}
	})
}

// TestPodStatus: times, codes and addresses; a container that vanished since
// the listing is left out.
func TestPodStatus(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		ctx := t.Context()
		sb, id := runPod(t, c, "p", "sh", "-c", "sleep 2; exit 3")
		gone := must(t)(c.CreateContainer(ctx, sb, containerConfig("p", "gone", 0), sandboxConfig("p", 0)))
		started := time.Now()
		time.Sleep(10 * time.Second)
		p, err := c.ListPod(ctx, "uid-p")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RemoveContainer(ctx, gone); err != nil {
			t.Fatal(err)
		}
		r.Inject("method=PodSandboxStatus delay=1s")
		at := time.Now()
		st, err := c.PodStatus(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if !st.At.Equal(at) || st.UID != "uid-p" || st.Name != "p" || st.Namespace != "default" {
			t.Errorf("%+v, want it as of %s", st, at)
		}
		if d := cmp.Diff([]string{"10.88.0.2"}, st.IPs); d != "" {
			t.Error(d)
		}
		if len(st.Sandboxes) != 1 || st.Sandboxes[0].ID != sb || len(st.Containers) != 1 {
			t.Fatalf("%+v", st)
		}
		cs := st.Containers[0]
		if cs.ID != id || cs.SandboxID != sb || cs.Name != "c" || cs.State != pod.Exited || cs.ExitCode != 3 || cs.Reason != "Error" ||
			cs.Hash != "beef" || cs.StopSignal != "SIGTERM" || cs.User == nil || cs.Image != "docker.io/library/busybox:latest" ||
			cs.ImageRef == cs.ImageID || cs.FinishedAt.Sub(cs.StartedAt).Round(time.Millisecond) != 2*time.Second || cs.StartedAt.Sub(started).Abs() > time.Millisecond {
			t.Errorf("%+v", cs)
		}
		if err := c.StopPodSandbox(ctx, sb); err != nil {
			t.Fatal(err)
		}
		if st, err = c.PodStatus(ctx, p); err != nil || st.IPs != nil || st.Sandboxes[0].State != pod.Exited {
			t.Errorf("stopped: %+v, %v", st, err)
		}
		if err := c.RemovePodSandbox(ctx, sb); err != nil {
			t.Fatal(err)
		}
		if st, err = c.PodStatus(ctx, p); err != nil || len(st.Sandboxes)+len(st.Containers) != 0 {
			t.Errorf("removed: %+v, %v", st, err)
		}
		r.Inject(`method=ContainerStatus nth=1 error=Unknown message="shim is gone"`)
		_, id = runPod(t, c, "q", "true")
		q, _ := c.ListPod(ctx, "uid-q")
		if st, err := c.PodStatus(ctx, q); st != nil || err == nil || err.Error() != "read status of container "+id[:13]+": shim is gone" {
			t.Errorf("failing status: %v, %v", st, err)
		}
	})
}

// embedding is a runtime that answers PodSandboxStatus as CRI-O does.
type embedding struct {
	*sim.Runtime
	timestamp int64
	with      bool
}

func (e *embedding) PodSandboxStatus(ctx context.Context, req *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	resp, err := e.Runtime.PodSandboxStatus(ctx, req)
	if err != nil {
		return nil, err
	}
	resp.Timestamp = e.timestamp
	list, err := e.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{PodSandboxId: req.PodSandboxId}})
	for _, c := range list.GetContainers() {
		if !e.with {
			continue
		}
		cs, err := e.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: c.Id})
		if err != nil {
			return nil, err
		}
		cs.Status.Reason = "embedded"
		resp.ContainersStatuses = append(resp.ContainersStatuses, cs.Status)
	}
	return resp, err
}

func (e *embedding) ContainerStatus(ctx context.Context, req *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	resp, err := e.Runtime.ContainerStatus(ctx, req)
	resp.GetStatus().Reason = "asked"
	return resp, err
}

// TestEmbeddedStatusesNeedTheirTimestamp: either alone proves nothing
// (RUNTIMES: CRI-O fills both, containerd neither, 2.0.0 the timestamp).
func TestEmbeddedStatusesNeedTheirTimestamp(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    embedding
		want string
	}{
		{"neither", embedding{}, "asked"},
		{"timestamp alone", embedding{timestamp: 1}, "asked"},
		{"statuses alone", embedding{with: true}, "asked"},
		{"both", embedding{timestamp: 1, with: true}, "embedded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := tc.e
				e.Runtime = sim.New(sim.Options{})
				l := bufconn.Listen(1 << 16)
				s := grpc.NewServer()
				runtimeapi.RegisterRuntimeServiceServer(s, &e)
				go func() { _ = s.Serve(l) }()
				c, err := Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: SimEndpoint},
					Dial: func(ctx context.Context) (net.Conn, error) { return l.DialContext(ctx) }})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				defer s.Stop()
				defer c.Close()
				e.SetImage("busybox", sim.ImageScript{})
				sb, _ := runPod(t, c, "p", "true")
				synctest.Wait()
				p, err := c.ListPod(t.Context(), "uid-p")
				if err != nil {
					t.Fatal(err)
				}
				st, err := c.PodStatus(t.Context(), p)
				if err != nil || len(st.Containers) != 1 || st.Containers[0].Reason != tc.want || st.Containers[0].SandboxID != sb {
					t.Errorf("%v, %v, want a status that was %s", st, err, tc.want)
				}
			})
		})
	}
}

// TestManifest is read from a sandbox's annotations.
func TestManifest(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		sb, _ := runPod(t, c, "p", "true")
		if raw, owner, err := c.Manifest(t.Context(), sb); raw != "packed" || owner != "agent" || err != nil {
			t.Errorf("%q, %q, %v", raw, owner, err)
		}
		if _, _, err := c.Manifest(t.Context(), "nosuch"); !errors.Is(err, ErrNotFound) {
			t.Errorf("of no sandbox: %v", err)
		}
	})
}

// TestTimesThatDidNotHappenAreZero, however the runtime writes that.
func TestTimesThatDidNotHappenAreZero(t *testing.T) {
	zero := time.Time{}.UnixNano() // what CRI-O sends
	s := toContainerStatus(&runtimeapi.ContainerStatus{
		State: runtimeapi.ContainerState_CONTAINER_RUNNING, CreatedAt: 5, StartedAt: 7, FinishedAt: zero, ExitCode: 9, Reason: "x",
	}, "")
	if !s.FinishedAt.IsZero() || s.ExitCode != 0 || s.Reason != "" || s.StartedAt.UnixNano() != 7 {
		t.Errorf("running: %+v", s)
	}
	s = toContainerStatus(&runtimeapi.ContainerStatus{State: runtimeapi.ContainerState_CONTAINER_CREATED, StartedAt: zero}, "")
	if !s.StartedAt.IsZero() || !s.CreatedAt.IsZero() {
		t.Errorf("created: %+v", s)
	}
	s = toContainerStatus(&runtimeapi.ContainerStatus{State: runtimeapi.ContainerState_CONTAINER_EXITED, StartedAt: zero, FinishedAt: 3, ExitCode: 128}, "")
	if !s.StartedAt.IsZero() || s.ExitCode != 128 || s.FinishedAt.UnixNano() != 3 {
		t.Errorf("never started: %+v", s)
	}
}

// TestIPsThatAreNone: one that is not an address spoils all.
func TestIPsThatAreNone(t *testing.T) {
	network := func(ip string, more ...string) *runtimeapi.PodSandboxNetworkStatus {
		n := &runtimeapi.PodSandboxNetworkStatus{Ip: ip}
		for _, ip := range more {
			n.AdditionalIps = append(n.AdditionalIps, &runtimeapi.PodIP{Ip: ip})
		}
		return n
	}
	for _, c := range []struct {
		in   *runtimeapi.PodSandboxNetworkStatus
		want []string
	}{
		{nil, nil},
		{network(""), nil},
		{network("10.0.0.1"), []string{"10.0.0.1"}},
		{network("10.0.0.1", "fd00::1"), []string{"10.0.0.1", "fd00::1"}},
		{network("10.0.0.1", "oops"), nil},
	} {
		if d := cmp.Diff(c.want, sandboxIPs(c.in)); d != "" {
			t.Errorf("%v: %s", c.in, d)
		}
	}
}

// Users of a cluster choose the annotations of their pods, but not the kubelet's.
func TestSandboxWithTheSourceOfAKubeletIsNotPodctls(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		cfg := sandboxConfig("a", 0)
		cfg.Annotations[pod.ConfigSourceAnnotation] = "api"
		cfg.Annotations[pod.InstanceAnnotation], cfg.Annotations[pod.WorkloadAnnotation], cfg.Annotations[pod.DevicesAnnotation] = "x", "x", "x"
		id := must(t)(c.RunPodSandbox(t.Context(), cfg, ""))
		p, err := c.ListPod(t.Context(), "uid-a")
		if err != nil {
			t.Fatal(err)
		}
		want := &pod.Sandbox{ID: id, State: pod.Running, Labels: cfg.Labels, Source: "api", CreatedAt: p.Sandboxes[0].CreatedAt}
		if d := cmp.Diff(want, p.Sandboxes[0]); d != "" {
			t.Error(d)
		}
		if raw, owner, err := c.Manifest(t.Context(), id); raw != "" || owner != "" || err != nil {
			t.Errorf("manifest %q of %q, %v", raw, owner, err)
		}
	})
}
