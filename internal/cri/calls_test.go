package cri

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// everyCall makes each call of the client once.
func everyCall(t *testing.T, c *Client) {
	ctx := t.Context()
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	_, err := c.Version(ctx)
	check(nil, err)
	_, err = c.Status(ctx)
	check(nil, err)
	check(c.CgroupDrivers(ctx))
	check(c.PullImage(ctx, "busybox", sandboxConfig("p", 0), nil))
	check(c.ImageStatus(ctx, "busybox"))
	sb, id := runPod(t, c, "p", "sleep", "3600")
	pods, err := c.ListPods(ctx)
	check(nil, err)
	check(c.PodStatus(ctx, pods[0]))
	check(c.ContainerStats(ctx))
	check(c.SandboxStats(ctx))
	check(c.ListImages(ctx))
	for _, list := range []listSpec{sandboxListSpec, containerListSpec(nil), containerStatsSpec, sandboxStatsSpec, imageListSpec} {
		c.conn.setListMode(list, listMode{large: true})
	}
	check(c.ListPods(ctx))
	check(c.ContainerStats(ctx))
	check(c.SandboxStats(ctx))
	_, _, err = c.Manifest(ctx, sb)
	check(nil, err)
	_, err = c.ExecSync(ctx, id, []string{"sleep", "1"}, 5*time.Second)
	check(nil, err)
	_, err = c.ExecSync(ctx, id, []string{"true"}, 0)
	check(nil, err)
	check(nil, c.UpdateContainerResources(ctx, id, &runtimeapi.LinuxContainerResources{CpuShares: 2}))
	check(nil, c.UpdatePodSandboxResources(ctx, sb, nil, nil))
	check(nil, c.ReopenContainerLog(ctx, id))
	check(nil, c.StopContainer(ctx, id, 30*time.Second))
	check(nil, c.RemoveContainer(ctx, id))
	check(nil, c.StopPodSandbox(ctx, sb))
	check(nil, c.RemovePodSandbox(ctx, sb))
	check(c.ListImages(ctx))
	check(nil, c.RemoveImage(ctx, "busybox"))
	// Of what is gone: the streaming server of the simulated runtime does not run
	// in a bubble.
	gone := func(_ string, err error) {
		if !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	}
	gone(c.Exec(ctx, id, []string{"true"}, Streams{Stdout: true}))
	gone(c.Attach(ctx, id, Streams{Stdout: true}))
	gone(c.PortForward(ctx, sb, 80))
}

// TestEveryCallHasItsDeadline, the longer ones those of the table in
// docs/cri.md.
func TestEveryCallHasItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		r.ClearCalls()
		everyCall(t, c)
		want := map[string][]time.Duration{
			"RunPodSandbox":   {4 * time.Minute},
			"CreateContainer": {2 * time.Minute}, "StartContainer": {2 * time.Minute}, "RemoveContainer": {2 * time.Minute},
			"StopPodSandbox": {2 * time.Minute}, "RemovePodSandbox": {2 * time.Minute},
			"ReopenContainerLog": {2 * time.Minute}, "RemoveImage": {2 * time.Minute},
			"UpdateContainerResources": {2 * time.Minute}, "UpdatePodSandboxResources": {2 * time.Minute},
			"StopContainer": {2*time.Minute + 30*time.Second},
			"ExecSync":      {2*time.Minute + 5*time.Second, 6 * time.Hour},
			"PullImage":     {6 * time.Hour},
		}
		seen := map[string]int{}
		for _, call := range r.Calls() {
			if _, ok := calls[call.Method]; !ok {
				t.Errorf("%s is missing in the table of calls", call.Method)
			}
			allowed := 30 * time.Second
			if w := want[call.Method]; w != nil {
				allowed = w[min(seen[call.Method], len(w)-1)]
			}
			if call.Allowed != allowed {
				t.Errorf("%s was given %s, want %s", call.Method, call.Allowed, allowed)
			}
			seen[call.Method]++
		}
		elsewhere := []string{"GetContainerEvents", "ImageFsInfo"}
		for method := range calls {
			if !slices.Contains(elsewhere, method) && seen[method] == 0 {
				t.Errorf("%s was never called", method)
			}
		}
	})
}

// TestTimeoutOfReadsDoesNotShortenChanges: crictl's configuration often has
// two seconds.
func TestTimeoutOfReadsDoesNotShortenChanges(t *testing.T) {
	for _, c := range []struct {
		method        string
		timeout, want time.Duration
	}{
		{"Version", 2 * time.Second, 2 * time.Second},
		{"StartContainer", 2 * time.Second, 2 * time.Minute},
		{"RunPodSandbox", 2 * time.Second, 4 * time.Minute},
		{"StartContainer", 5 * time.Minute, 5 * time.Minute},
		{"RunPodSandbox", 5 * time.Minute, 10 * time.Minute},
		{"SomethingNew", 2 * time.Second, 2 * time.Minute},
	} {
		if got := deadline(c.method, nil, c.timeout); got != c.want {
			t.Errorf("%s with a timeout of %s: %s, want %s", c.method, c.timeout, got, c.want)
		}
	}
}

// TestHangingCallEndsAtItsDeadline and says how long it waited.
func TestHangingCallEndsAtItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		_, id := runPod(t, c, "p", "sleep", "3600")
		defer r.Inject("method=ContainerStatus pod=default/p hang")()
		start := time.Now()
		_, err := c.ContainerStatus(t.Context(), id)
		if !errors.Is(err, ErrDeadline) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != DefaultTimeout {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if want := "read status of container " + id[:13] + ": no answer within 30s"; err.Error() != want {
			t.Errorf("message %q, want %q", err, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := c.ContainerStatus(ctx, id); !errors.Is(err, context.Canceled) || errors.Is(err, ErrDeadline) {
			t.Errorf("cancelled by the caller: %v", err)
		}
	})
}

// TestServerThatNoticesTheDeadlineFirst ends the stream, and that is all that
// gRPC tells: the context of the call may still be alive.
func TestServerThatNoticesTheDeadlineFirst(t *testing.T) {
	now := time.Unix(0, 0)
	reset := status.Error(codes.DeadlineExceeded, "stream terminated by RST_STREAM with error code: CANCEL")
	c := &conn{dialer: &dialer{}, log: slog.New(slog.DiscardHandler), now: func() time.Time { return now.Add(30 * time.Second) }}
	err := c.done(t.Context(), "ContainerStatus", "c", now, 30*time.Second, reset)
	if want := "read status of container c: no answer within 30s"; !errors.Is(err, ErrDeadline) || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestCallAfterItsDeadlineDoesNotSayThatItWaitedNoTime, or less.
func TestCallAfterItsDeadlineDoesNotSayThatItWaitedNoTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		defer r.Inject("method=ContainerStatus hang")()
		for _, left := range []time.Duration{-time.Second, time.Microsecond} {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			defer cancel()
			_, err := c.ContainerStatus(ctx, "c")
			if want := "read status of container c: no answer within 1ms"; !errors.Is(err, ErrDeadline) || err.Error() != want {
				t.Errorf("%s before its deadline: %v, want %q", left, err, want)
			}
		}
	})
}

// TestErrorsTellKindsAndKeepTheText of the runtime.
func TestErrorsTellKindsAndKeepTheText(t *testing.T) {
	for _, c := range []struct {
		err  error
		is   []error
		text string
	}{
		{status.Error(codes.NotFound, "no such"), []error{ErrNotFound, fs.ErrNotExist}, "no such"},
		{status.Error(codes.Unavailable, "server is not initialized yet"), []error{ErrUnavailable}, "server is not initialized yet"},
		{status.Error(codes.Unimplemented, "unknown method"), []error{ErrUnsupported, errors.ErrUnsupported}, "unknown method"},
		{status.Error(codes.DeadlineExceeded, "timeout 1s exceeded"), []error{ErrDeadline}, "timeout 1s exceeded"},
		{status.Error(codes.PermissionDenied, "no"), []error{ErrPermission, fs.ErrPermission}, "no"},
		{status.Error(codes.Unknown, `failed to reserve container name "a": name "a" is reserved for "b"`), []error{ErrNameReserved, fs.ErrExist}, `failed to reserve container name "a": name "a" is reserved for "b"`},
		{status.Error(codes.Unknown, "error reserving pod name k8s_p: name is reserved"), []error{ErrNameReserved}, "error reserving pod name k8s_p: name is reserved"},
		{status.Error(codes.Unknown, "runc create failed"), nil, "runc create failed"},
	} {
		bubble(t, func(t *testing.T, r *sim.Runtime, c2 *Client) {
			r.InjectRules(rules.Rule{Method: "RunPodSandbox", Error: status.Code(c.err), Message: c.text})
			_, err := c2.RunPodSandbox(t.Context(), sandboxConfig("p", 0), "")
			var e *Error
			if !errors.As(err, &e) || e.RuntimeMessage() != c.text || e.Error() != "run sandbox default/p: "+c.text {
				t.Fatalf("%v", err)
			}
			for _, kind := range []error{ErrNotFound, ErrUnavailable, ErrUnsupported, ErrDeadline, ErrPermission, ErrNameReserved, ErrNotCRI} {
				if got, want := errors.Is(err, kind), slices.Contains(c.is, kind); got != want {
					t.Errorf("%v is %v: %t, want %t", err, kind, got, want)
				}
			}
			for _, is := range c.is {
				if !errors.Is(err, is) {
					t.Errorf("%v is not %v", err, is)
				}
			}
		})
	}
}

// recorder is an Observer.
type recorder struct{ methods []string }

func (r *recorder) RuntimeOperation(method string, took time.Duration, err error) {
	if err != nil {
		method += "!"
	}
	r.methods = append(r.methods, method+" "+took.String())
}

// TestCallsAreObservedAndLogged, and no environment, command or argument
// appears in the log.
func TestCallsAreObservedAndLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sim.New(sim.Options{})
		defer r.Close()
		var log bytes.Buffer
		var rec recorder
		c, err := Connect(t.Context(), Options{
			Endpoint: Endpoint{Runtime: SimEndpoint}, Dial: r.Dial, Observer: &rec,
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		cfg := sandboxConfig("p", 0)
		cfg.Annotations[pod.ManifestAnnotation] = "SECRET"
		sb := must(t)(c.RunPodSandbox(t.Context(), cfg, ""))
		ct := containerConfig("p", "c", 0, "SECRET")
		ct.Args, ct.Envs = []string{"SECRET"}, []*runtimeapi.KeyValue{{Key: "PASSWORD", Value: []byte("SECRET")}}
		id := must(t)(c.CreateContainer(t.Context(), sb, ct, cfg))
		r.Inject("method=StartContainer delay=2s")
		if err := c.StartContainer(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		_, _ = c.ExecSync(t.Context(), id, []string{"SECRET"}, time.Second)
		_, err = c.ContainerStatus(t.Context(), "nosuch")
		if err == nil {
			t.Error("no error")
		}
		want := "Version 0s, RunPodSandbox 0s, CreateContainer 0s, StartContainer 2s, ExecSync 0s, ContainerStatus! 0s"
		if got := strings.Join(rec.methods, ", "); got != want {
			t.Errorf("observed %s\nwant     %s", got, want)
		}
		if strings.Contains(log.String(), "SECRET") {
			t.Errorf("a secret is in the log:\n%s", log.String())
		}
		for _, want := range []string{"method=StartContainer object=" + id[:13] + " took=2s code=OK", "method=ContainerStatus object=nosuch took=0s code=NotFound", "object=default/p/c"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, log.String())
			}
		}
	})
}

// TestRuntimeHandlersAreSorted, in whatever order the runtime lists them.
func TestRuntimeHandlersAreSorted(t *testing.T) {
	s := runtimeStatus(&runtimeapi.StatusResponse{RuntimeHandlers: []*runtimeapi.RuntimeHandler{{Name: "runc"}, {Name: ""}, {Name: "crun"}}})
	if want := []Handler{{Name: ""}, {Name: "crun"}, {Name: "runc"}}; !slices.Equal(s.Handlers, want) {
		t.Errorf("%v, want %v", s.Handlers, want)
	}
}

// TestRuntimeStatus: conditions, what is not reported, handlers.
func TestRuntimeStatus(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		r.SetNetwork("cni plugin not initialized")
		s, err := c.Status(t.Context())
		if err != nil || !s.Runtime.OK || s.Network.OK || s.Network.Reason != "NetworkPluginNotReady" || len(s.Others) != 1 || len(s.Handlers) != 2 {
			t.Errorf("%+v, %v", s, err)
		}
		if d, err := c.CgroupDrivers(t.Context()); d.Of("") != "cgroupfs" || !d.Named || err != nil {
			t.Errorf("cgroup drivers %+v, %v", d, err)
		}
		r.Inject(`method=RuntimeConfig nth=1 error=Unimplemented message="unknown method RuntimeConfig"`)
		if d, err := c.CgroupDrivers(t.Context()); d.Of("") != "" || d.Named || err != nil {
			t.Errorf("runtime without RuntimeConfig: %+v, %v", d, err)
		}
	})
	if s := runtimeStatus(&runtimeapi.StatusResponse{}); s.Runtime.OK || s.Network.OK || s.Network.Reason != "Missing" {
		t.Errorf("a runtime that reports nothing is ready: %+v", s)
	}
}

// TestGraceIsRoundedUp to the whole seconds of the CRI.
func TestGraceIsRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		-time.Second: 0, 0: 0, 1: 1, time.Second: 1, 1500 * time.Millisecond: 2, 30 * time.Second: 30,
	} {
		if got := seconds(d); got != want {
			t.Errorf("%s is %d s, want %d", d, got, want)
		}
	}
}

// TestStoppingWhatIsGoneIsNoError, though containerd 1.6 makes it one.
func TestStoppingWhatIsGoneIsNoError(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		for method, stop := range map[string]func() error{
			"StopContainer":    func() error { return c.StopContainer(t.Context(), "x", time.Second) },
			"RemoveContainer":  func() error { return c.RemoveContainer(t.Context(), "x") },
			"StopPodSandbox":   func() error { return c.StopPodSandbox(t.Context(), "x") },
			"RemovePodSandbox": func() error { return c.RemovePodSandbox(t.Context(), "x") },
		} {
			r.Inject("method=" + method + " nth=1 error=NotFound message=\"not found\"")
			if err := stop(); err != nil {
				t.Errorf("%s: %v", method, err)
			}
			r.Inject("method=" + method + " nth=1 error=Unknown message=busy")
			if err := stop(); err == nil {
				t.Errorf("%s: no error", method)
			}
		}
	})
}

// TestExecThatCRIOTimedOut is an answer, not an error, on the wire.
func TestExecThatCRIOTimedOut(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		reply := sim.ExecReply{Stderr: "command timed out", ExitCode: -1}
		r.Script("c", sim.Script{Exec: func([]string) sim.ExecReply { return reply }})
		_, id := runPod(t, c, "p", "sleep", "60")
		if _, err := c.ExecSync(t.Context(), id, []string{"x"}, time.Second); !errors.Is(err, ErrDeadline) {
			t.Errorf("timed out: %v", err)
		}
		reply.ExitCode = 1
		if res, err := c.ExecSync(t.Context(), id, []string{"x"}, time.Second); err != nil || res.ExitCode != 1 {
			t.Errorf("a command that says so: %+v, %v", res, err)
		}
	})
}

// TestPullKeepsPodctlsAnnotationsBack.
func TestPullKeepsPodctlsAnnotationsBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		cfg := sandboxConfig("p", 0)
		cfg.Annotations["kept"] = "yes"
		uid := int64(1000)
		r.SetImage("app", sim.ImageScript{Absent: true, UID: &uid, Size: 7})
		if img, err := c.ImageStatus(t.Context(), "app"); img != nil || err != nil {
			t.Errorf("absent image: %v, %v", img, err)
		}
		ref := must(t)(c.PullImage(t.Context(), "app", cfg, &runtimeapi.AuthConfig{Username: "u"}))
		req := r.Calls("PullImage")[0].Request.(*runtimeapi.PullImageRequest)
		if a := req.Image.Annotations; len(a) != 1 || a["kept"] != "yes" || req.Auth.Username != "u" {
			t.Errorf("annotations %v, auth %v", a, req.Auth)
		}
		if len(cfg.Annotations) != 3 {
			t.Error("the caller's config was changed")
		}
		img, err := c.ImageStatus(t.Context(), ref)
		if err != nil || img.ID != ref || *img.UID != 1000 || img.Size != 7 || img.RepoTags[0] != "docker.io/library/app:latest" {
			t.Errorf("%+v, %v", img, err)
		}
	})
}

func TestSimNameIsThatOfTheSimulatedRuntime(t *testing.T) {
	if SimName != sim.Name {
		t.Errorf("%q, want %q", SimName, sim.Name)
	}
}
