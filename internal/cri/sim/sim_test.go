package sim_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri/sim"
)

// node is a runtime and a client of it.
type node struct {
	t   *testing.T
	sim *sim.Runtime
	rt  runtimeapi.RuntimeServiceClient
	img runtimeapi.ImageServiceClient
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, o sim.Options, f func(*testing.T, *node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := sim.New(o)
		cc, err := grpc.NewClient("passthrough:///sim",
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return r.Dial(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cc.Close(); r.Close() })
		f(t, &node{t, r, runtimeapi.NewRuntimeServiceClient(cc), runtimeapi.NewImageServiceClient(cc)})
	})
}

func sandboxConfig(name string) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "uid-" + name},
		Labels:   map[string]string{"io.kubernetes.pod.uid": "uid-" + name},
		Hostname: name,
	}
}

func (n *node) runPod(cfg *runtimeapi.PodSandboxConfig) string {
	n.t.Helper()
	resp, err := n.rt.RunPodSandbox(n.t.Context(), &runtimeapi.RunPodSandboxRequest{Config: cfg})
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.PodSandboxId
}

// containerConfig has a pid namespace of its own, as the kubelet's default.
func containerConfig(argv ...string) *runtimeapi.ContainerConfig {
	const name = "c"
	return &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: name},
		Image:    &runtimeapi.ImageSpec{Image: "busybox"},
		Command:  argv,
		LogPath:  name + "/0.log",
		Linux: &runtimeapi.LinuxContainerConfig{SecurityContext: &runtimeapi.LinuxContainerSecurityContext{
			NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER},
		}},
	}
}

func (n *node) create(sb string, pod *runtimeapi.PodSandboxConfig, cfg *runtimeapi.ContainerConfig) string {
	n.t.Helper()
	resp, err := n.rt.CreateContainer(n.t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: sb, Config: cfg, SandboxConfig: pod})
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.ContainerId
}

func (n *node) start(id string) {
	n.t.Helper()
	if _, err := n.rt.StartContainer(n.t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		n.t.Fatal(err)
	}
}

// run starts a container that runs a shell script, in a pod of its own.
func (n *node) run(script string) (id string) {
	n.t.Helper()
	pod := sandboxConfig("p")
	id = n.create(n.runPod(pod), pod, containerConfig("sh", "-c", script))
	n.start(id)
	return id
}

func (n *node) status(id string) *runtimeapi.ContainerStatus {
	n.t.Helper()
	resp, err := n.rt.ContainerStatus(n.t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.Status
}

// stop stops a container and returns how long that took.
func (n *node) stop(id string, grace int64) time.Duration {
	n.t.Helper()
	start := time.Now()
	if _, err := n.rt.StopContainer(n.t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: grace}); err != nil {
		n.t.Fatal(err)
	}
	return time.Since(start).Round(10 * time.Millisecond)
}

// TestCommandsRunInVirtualTime: the interpreter's programs last as long, and
// exit as, a shell's.
func TestCommandsRunInVirtualTime(t *testing.T) {
	for _, c := range []struct {
		script string
		lasts  time.Duration
		code   int32
	}{
		{"true", 0, 0},
		{"false", 0, 1},
		{"exit 3", 0, 3},
		{"sleep 2; exit 42", 2 * time.Second, 42},
		{"sleep 1m && false || exit 5", time.Minute, 5},
		{"true && exit 1; exit 2", 0, 1},
		{"for i in 1 2 3; do sleep 1; done; exit $i", 3 * time.Second, 3},
		{"i=0; while [ $i -lt 4 ]; do i=$((i+1)); sleep 0.5; done; exit $i", 2 * time.Second, 4},
		{"if [ -f /ready ]; then exit 1; else touch /ready; fi; test -f /ready && exit 7", 0, 7},
		{"sleep 5 & wait; exit 9", 5 * time.Second, 9},
		{"sleep 5 & exit 9", 0, 9},
		{"(sleep 1); { sleep 1; }; exec sleep 1", 3 * time.Second, 0},
		{"# nothing\nexit 4 # now", 0, 4},
		{"! true", 0, 1},
		{"i=0; until [ $i = 2 ]; do i=$((i + 1)); done; exit $i", 0, 2},
		{"x=a; [ \"$x\" = 'a' ] && exit 6", 0, 6},
		{"exit $(echo 8)", 0, 8},
		{"while true; do break; done; exit 2", 0, 2},
	} {
		t.Run(c.script, func(t *testing.T) {
			bubble(t, sim.Options{}, func(t *testing.T, n *node) {
				id := n.run(c.script)
				time.Sleep(c.lasts - time.Millisecond)
				synctest.Wait()
				if c.lasts > 0 && n.status(id).State != runtimeapi.ContainerState_CONTAINER_RUNNING {
					t.Errorf("ended before %s", c.lasts)
				}
				time.Sleep(20 * time.Millisecond) // a loop's turns take a moment
				synctest.Wait()
				if st := n.status(id); st.State != runtimeapi.ContainerState_CONTAINER_EXITED || st.ExitCode != c.code {
					t.Errorf("after %s: %s, exit code %d, want exited with %d", c.lasts, st.State, st.ExitCode, c.code)
				}
			})
		})
	}
}

// TestStopSignals: what a stop does depends on the process's traps and on
// whether it is the first of its pid namespace.
func TestStopSignals(t *testing.T) {
	for _, c := range []struct {
		name, script string
		pid          runtimeapi.NamespaceMode
		signal       runtimeapi.Signal
		grace        int64
		takes        time.Duration
		code         int32
		reason       string
	}{
		{name: "first process without a trap ignores TERM", script: "sleep 3600", pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, takes: 30 * time.Second, code: 137, reason: "Error"},
		{name: "in the pod's pid namespace TERM ends it", script: "sleep 3600", pid: runtimeapi.NamespaceMode_POD, grace: 30, code: 143, reason: "Error"},
		{name: "trapped", script: `trap "exit 0" TERM; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, takes: 100 * time.Millisecond, code: 0, reason: "Completed"},
		{name: "trap that takes its time", script: `trap "sleep 1; exit 0" TERM; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 5, takes: 1100 * time.Millisecond, reason: "Completed"},
		{name: "trap waits for the command in front", script: `trap "exit 0" TERM; sleep 10`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, takes: 9 * time.Second, reason: "Completed"},
		{name: "wait is interrupted", script: `trap "exit 0" TERM; sleep 3600 & wait`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, reason: "Completed"},
		{name: "ignored", script: `trap "" TERM; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_POD, grace: 2, takes: 2 * time.Second, code: 137, reason: "Error"},
		{name: "another trap does not help", script: `trap "exit 7" USR1; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 4, takes: 4 * time.Second, code: 137, reason: "Error"},
		{name: "the container's stop signal", script: `trap "exit 7" USR1; while true; do sleep 0.1; done`, pid: runtimeapi.NamespaceMode_CONTAINER, signal: runtimeapi.Signal_SIGUSR1, grace: 4, takes: 100 * time.Millisecond, code: 7, reason: "Error"},
		{name: "unknown program obeys", script: "nginx -g 'daemon off;'", pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, code: 143, reason: "Error"},
		{name: "unknown syntax obeys", script: "case x in x) ;; esac", pid: runtimeapi.NamespaceMode_CONTAINER, grace: 30, code: 143, reason: "Error"},
		{name: "no grace kills at once", script: `trap "sleep 1" TERM; sleep 3600`, pid: runtimeapi.NamespaceMode_CONTAINER, grace: 0, code: 137, reason: "Error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, sim.Options{}, func(t *testing.T, n *node) {
				pod := sandboxConfig("p")
				cfg := containerConfig("sh", "-c", c.script)
				cfg.Linux.SecurityContext.NamespaceOptions.Pid = c.pid
				cfg.StopSignal = c.signal
				id := n.create(n.runPod(pod), pod, cfg)
				n.start(id)
				time.Sleep(time.Second)
				synctest.Wait()
				took := n.stop(id, c.grace)
				st := n.status(id)
				if off := took - c.takes; off < -100*time.Millisecond || off > 110*time.Millisecond {
					t.Errorf("stop took %s, want %s", took, c.takes)
				}
				if st.ExitCode != c.code || st.Reason != c.reason || st.State != runtimeapi.ContainerState_CONTAINER_EXITED {
					t.Errorf("%s with %d %s, want exited with %d %s", st.State, st.ExitCode, st.Reason, c.code, c.reason)
				}
			})
		})
	}
}

// TestSecondStopDoesNotSignalAgain, but waits its own grace.
func TestSecondStopDoesNotSignalAgain(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		id := n.run(`n=0; trap 'n=$((n+1)); [ $n = 2 ] && exit 1' TERM; while true; do sleep 0.1; done`)
		time.Sleep(time.Second)
		go func() {
			_, _ = n.rt.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 60})
		}()
		time.Sleep(time.Second)
		if took := n.stop(id, 2); took != 2*time.Second {
			t.Errorf("second stop took %s, want its own 2s", took)
		}
		if code := n.status(id).ExitCode; code != 137 {
			t.Errorf("exit code %d, want 137", code)
		}
	})
}

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

// TestStartFailureLeavesAnExitedContainer with code 128.
func TestStartFailureLeavesAnExitedContainer(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		n.sim.Script("c", sim.Script{StartErr: status.Error(codes.Unknown, `exec: "/no/such": no such file or directory`)})
		pod := sandboxConfig("p")
		id := n.create(n.runPod(pod), pod, containerConfig("/no/such"))
		if _, err := n.rt.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}); err == nil {
			t.Fatal("it started")
		}
		st := n.status(id)
		if st.ExitCode != 128 || st.Reason != "StartError" || !strings.Contains(st.Message, "/no/such") || st.StartedAt != 0 || st.FinishedAt == 0 {
			t.Errorf("status %+v", st)
		}
	})
}

// TestProgramsByAttempt: the nth script is that of attempt n, the last one
// that of all later ones.
func TestProgramsByAttempt(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		n.sim.Script("p/c", sim.Script{Program: &sim.Program{Lifetime: 3 * time.Second, OOMKilled: true}},
			sim.Script{Program: &sim.Program{ExitCode: 4}})
		pod := sandboxConfig("p")
		sb := n.runPod(pod)
		for attempt, want := range []struct {
			code   int32
			reason string
		}{{137, "OOMKilled"}, {4, "Error"}, {4, "Error"}} {
			cfg := containerConfig("sleep", "60")
			cfg.Metadata.Attempt = uint32(attempt)
			id := n.create(sb, pod, cfg)
			n.start(id)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if st := n.status(id); st.ExitCode != want.code || st.Reason != want.reason {
				t.Errorf("attempt %d: %d %s, want %v", attempt, st.ExitCode, st.Reason, want)
			}
		}
	})
}

// TestUnkillable: a process that ignores SIGKILL makes every stop run out of
// time.
func TestUnkillable(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		n.sim.Script("c", sim.Script{IgnoreKill: true})
		id := n.run("sleep 3600")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := n.rt.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 2}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("stop: %v", err)
		}
		if st := n.status(id).State; st != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("state %s", st)
		}
	})
}

// TestExecSync: output, exit codes, its timeout, and the container's end.
func TestExecSync(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		id := n.run("echo up > /tmp/up; sleep 100")
		synctest.Wait()
		exec := func(timeout int64, cmd ...string) (*runtimeapi.ExecSyncResponse, error) {
			return n.rt.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: cmd, Timeout: timeout})
		}
		if r, err := exec(1, "cat", "/tmp/up"); err != nil || string(r.Stdout) != "up\n" {
			t.Errorf("cat: %v, %v", r, err)
		}
		if r, err := exec(1, "sh", "-c", "echo bad >&2; exit 3"); err != nil || string(r.Stderr) != "bad\n" || r.ExitCode != 3 {
			t.Errorf("exit 3: %v, %v", r, err)
		}
		if r, err := exec(1, "pg_isready"); err != nil || r.ExitCode != 0 {
			t.Errorf("unknown command: %v, %v", r, err)
		}
		start := time.Now()
		if _, err := exec(2, "sleep", "60"); status.Code(err) != codes.DeadlineExceeded || time.Since(start) != 2*time.Second {
			t.Errorf("timeout after %s: %v", time.Since(start), err)
		}
		if r, err := exec(0, "sleep", "3600"); err != nil || r.ExitCode != 137 {
			t.Errorf("exec in a container that ends: %v, %v", r, err)
		}
		if _, err := exec(1, "true"); err == nil || !strings.Contains(err.Error(), "CONTAINER_EXITED") {
			t.Errorf("exec in an exited container: %v", err)
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

// TestFaults: fail, skip, hang, delay, and an answer that is lost.
func TestFaults(t *testing.T) {
	bubble(t, sim.Options{Record: true}, func(t *testing.T, n *node) {
		version := func() error {
			_, err := n.rt.Version(t.Context(), &runtimeapi.VersionRequest{})
			return err
		}
		boom := errors.New("boom")
		n.sim.Inject(sim.Fault{Method: "Version", Skip: 1, Times: 2, Err: boom})
		for i, fails := range []bool{false, true, true, false} {
			if err := version(); (err != nil) != fails {
				t.Errorf("call %d: %v", i, err)
			}
		}
		release := n.sim.Hang("Version", "")
		done := make(chan error)
		go func() { done <- version() }()
		time.Sleep(time.Hour)
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := n.sim.Calls("Version")[4].Took; took != time.Hour {
			t.Errorf("the hanging call took %s", took)
		}
		release = n.sim.Delay("Version", "", time.Minute)
		start := time.Now()
		if err := version(); err != nil || time.Since(start) != time.Minute {
			t.Errorf("delayed call: %v after %s", err, time.Since(start))
		}
		release()

		n.sim.Inject(sim.Fault{Method: "RunPodSandbox", Match: "default/b", After: true, Err: boom})
		n.runPod(sandboxConfig("a"))
		if _, err := n.rt.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: sandboxConfig("b")}); err == nil {
			t.Error("the answer was not lost")
		}
		resp, err := n.rt.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
		if err != nil || len(resp.Items) != 2 {
			t.Errorf("sandboxes %d, want both", len(resp.GetItems()))
		}
	})
}

// TestCallsAreRecorded with the names behind their ids.
func TestCallsAreRecorded(t *testing.T) {
	bubble(t, sim.Options{Record: true}, func(t *testing.T, n *node) {
		id := n.run("sleep 1")
		n.stop(id, 1)
		var got []string
		for _, c := range n.sim.Calls() {
			got = append(got, c.String())
		}
		want := "RunPodSandbox default/p, CreateContainer default/p/c, StartContainer default/p/c, StopContainer default/p/c"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("calls %s\nwant  %s", s, want)
		}
	})
}

// TestCrash: processes go on, clients find out, and all is there afterwards.
func TestCrash(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		id := n.run("sleep 3600")
		n.sim.Crash()
		if _, err := n.rt.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id}); status.Code(err) != codes.Unavailable {
			t.Errorf("while crashed: %v", err)
		}
		n.sim.Restart()
		time.Sleep(2 * time.Second)
		if st := n.status(id).State; st != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("after the crash: %s", st)
		}
	})
}

// What the interpreter does not know runs on in the background, too.
func TestUnknownCommandInTheBackgroundIsWaitedFor(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		id := n.run("trap 'exit 0' TERM; tail -f /log & wait")
		time.Sleep(time.Hour)
		if st := n.status(id); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("%s, exit code %d", st.State, st.ExitCode)
		}
	})
}
