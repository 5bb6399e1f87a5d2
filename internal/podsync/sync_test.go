package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podsync"
	"github.com/podctl/podctl/internal/render"
	"github.com/podctl/podctl/internal/volume"
)

// inBubble runs a test on a fresh bench in virtual time.
func inBubble(t *testing.T, f func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		f(t, b)
		for _, v := range b.rt.violations {
			t.Error(v)
		}
	})
}

func wantCalls(t *testing.T, b *bench, want ...string) {
	t.Helper()
	var got []string
	for _, c := range b.calls() {
		got = append(got, c.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("calls:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func wantWaiting(t *testing.T, s v1.PodStatus, container, reason, message string) {
	t.Helper()
	for _, cs := range append(slices.Clone(s.InitContainerStatuses), s.ContainerStatuses...) {
		if cs.Name != container {
			continue
		}
		if w := cs.State.Waiting; w == nil || w.Reason != reason || !strings.Contains(w.Message, message) {
			t.Errorf("container %s is in %+v; want it waiting for %s: …%s…", container, cs.State, reason, message)
		}
		return
	}
	t.Errorf("no status of container %s", container)
}

func retryAt(t *testing.T, err error) time.Time {
	t.Helper()
	var r interface{ RetryAt() (time.Time, bool) }
	if !errors.As(err, &r) {
		t.Fatalf("error %v has no RetryAt", err)
	}
	at, ok := r.RetryAt()
	if !ok {
		return time.Time{}
	}
	return at
}

// TestAPodStartsWithTheFewestCalls: one container, its image present: these
// are all the calls there are, reads too.
func TestAPodStartsWithTheFewestCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		res := b.mustSync(podOf(v1.RestartPolicyNever, container("c")))
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "StartContainer c")
		if want := []string{"PodStatus", "ImageStatus"}; !slices.Equal(b.rt.reads, want) {
			t.Errorf("reads %q; want %q", b.rt.reads, want)
		}
		if want := []string{"cgroup", "mount"}; !slices.Equal(b.host.steps, want) {
			t.Errorf("host steps %q; want %q", b.host.steps, want)
		}
		if want := []string{"Pulled", "Created", "Started"}; !slices.Equal(b.events.reasons(), want) {
			t.Errorf("events %q; want %q", b.events.reasons(), want)
		}
		if !res.Acted || res.Terminal {
			t.Errorf("result %+v; want it to have acted", res)
		}
	})
}

func TestARunningPodIsLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		b.mustSync(p)
		calls, reads, steps := len(b.calls()), len(b.rt.reads), len(b.host.steps)
		res := b.mustSync(p)
		if res.Acted || len(b.calls()) != calls || len(b.rt.reads) != reads || len(b.host.steps) != steps {
			t.Errorf("the second sync acted: %v, host %v", b.calls()[calls:], b.host.steps[steps:])
		}
		if res.Status.Phase != v1.PodRunning {
			t.Errorf("phase %s; want Running", res.Status.Phase)
		}
	})
}

func TestFilesOfAPod(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		var mounts map[string]string
		b.rt.program = func(cfg *runtimeapi.ContainerConfig) program {
			mounts = map[string]string{}
			for _, m := range cfg.Mounts {
				mounts[m.ContainerPath] = m.HostPath
			}
			return program{}
		}
		p := podOf(v1.RestartPolicyAlways, container("c"))
		b.mustSync(p)
		hosts := b.opt.Node.HostsFile(p.UID)
		if mounts["/etc/hosts"] != hosts {
			t.Errorf("/etc/hosts is %q; want %q", mounts["/etc/hosts"], hosts)
		}
		if data, err := os.ReadFile(hosts); err != nil || !strings.Contains(string(data), "10.88.0.7\tp\n") {
			t.Errorf("hosts file %q, %v; want the pod's address in it", data, err)
		}
		log := mounts["/dev/termination-log"]
		if filepath.Dir(log) != b.opt.Node.ContainerDir(p.UID, "c") {
			t.Errorf("termination log %q is not in the container's directory", log)
		}
		if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o666 {
			t.Errorf("termination log: %v, %v; want mode 0666", info, err)
		}
		if info, err := os.Stat(b.opt.Node.LogDirectory(p)); err != nil || !info.IsDir() {
			t.Errorf("no log directory: %v", err)
		}
	})
}

func TestAttemptGoesOnFromLogsThatTheRuntimeForgot(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		dir := filepath.Join(b.opt.Node.LogDirectory(p), "c")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"0.log", "3.log.20260301-120000.gz", "notes.log", "9.txt"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		b.mustSync(p)
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#4", "StartContainer c")
	})
}

func TestNetworkNotReadyHoldsBackPodsWithANetworkOfTheirOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.opt.NetworkReady = func() error { return errors.New("cni plugin not initialized") }
		b.syncer = podsync.New(b.opt)
		p := podOf(v1.RestartPolicyAlways, container("c"))
		_, err := b.sync(p)
		if !errors.Is(err, podsync.ErrNetworkNotReady) || !strings.Contains(err.Error(), "cni plugin") {
			t.Errorf("error %v; want ErrNetworkNotReady with the cause", err)
		}
		wantCalls(t, b)
		p.Spec.HostNetwork = true
		b.mustSync(p)
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "StartContainer c")
		if slices.Contains(b.rt.reads, "PodStatus") {
			t.Error("asks the sandbox of a host-network pod for its address")
		}
	})
}

func TestNothingIsCreatedOnAHostThatIsNotReady(t *testing.T) {
	for step, event := range map[string]string{"cgroup": "FailedCreatePodContainer", "mount": "FailedMount"} {
		t.Run(step, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.host.err[step] = errors.New("no space left on device")
				p := podOf(v1.RestartPolicyAlways, container("c"))
				if _, err := b.sync(p); !errors.Is(err, b.host.err[step]) {
					t.Errorf("error %v; want the host's", err)
				}
				wantCalls(t, b)
				if got := b.events.reasons(); !slices.Equal(got, []string{event}) {
					t.Errorf("events %q; want %s", got, event)
				}
				delete(b.host.err, step)
				b.mustSync(p)
				wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "StartContainer c")
			})
		})
	}
}

func TestAFullDiskIsAnErrorThatNamesTheStep(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		b.host.Manager = volume.New(file) // a directory cannot be made below a file
		if _, err := b.sync(podOf(v1.RestartPolicyAlways, container("c"))); err == nil || !strings.Contains(err.Error(), "mount volumes: make pod directory") {
			t.Errorf("error %v; want one of the pod's directory", err)
		}
		wantCalls(t, b)
	})
}

// lossy does what it is told, once, and says that it failed.
type lossy struct {
	*fakeRuntime
	method string
}

func (l *lossy) lose(method, id string, err error) (string, error) {
	if err != nil || l.method != method {
		return id, err
	}
	l.method = ""
	return "", errors.New("the connection broke")
}

func (l *lossy) RunPodSandbox(ctx context.Context, cfg *runtimeapi.PodSandboxConfig, handler string) (string, error) {
	id, err := l.fakeRuntime.RunPodSandbox(ctx, cfg, handler)
	return l.lose("RunPodSandbox", id, err)
}

func (l *lossy) CreateContainer(ctx context.Context, id string, cfg *runtimeapi.ContainerConfig, sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	id, err := l.fakeRuntime.CreateContainer(ctx, id, cfg, sandbox)
	return l.lose("CreateContainer", id, err)
}

func (l *lossy) StartContainer(ctx context.Context, id string) error {
	_, err := l.lose("StartContainer", id, l.fakeRuntime.StartContainer(ctx, id))
	return err
}

// TestSyncGoesOnAfterACrashAnywhere fails each call of a start in turn, before
// or after it had its effect, and forgets all that was remembered: the pod
// still comes up, and no container runs twice.
func TestSyncGoesOnAfterACrashAnywhere(t *testing.T) {
	for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer"} {
		for _, when := range []string{"before", "after"} {
			t.Run(when+" "+method, func(t *testing.T) {
				inBubble(t, func(t *testing.T, b *bench) {
					if when == "after" {
						b.opt.Runtime = &lossy{fakeRuntime: b.rt, method: method}
						b.syncer = podsync.New(b.opt)
					}
					failures := 1
					b.rt.fail = func(m, _ string) error {
						if when == "before" && m == method && failures > 0 {
							failures--
							return errors.New("the runtime was killed")
						}
						return nil
					}
					p := podOf(v1.RestartPolicyAlways, container("c"))
					if _, err := b.sync(p); err == nil {
						t.Error("the failed call was no error")
					}
					b.syncer = podsync.New(b.opt)
					b.mustSync(p)
					st := b.rt.snapshot()
					if c := st.Container("c"); c == nil || c.State != pod.Running || len(st.Sandboxes) != 1 {
						t.Errorf("container %+v in %d sandboxes; want one running in one", c, len(st.Sandboxes))
					}
				})
			})
		}
	}
}

func TestANameThatIsTakenRaisesTheAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		taken := map[string]int{"RunPodSandbox": 2, "CreateContainer": 1}
		b.rt.fail = func(method, _ string) error {
			if taken[method] > 0 {
				taken[method]--
				return fmt.Errorf("name is reserved: %w", fs.ErrExist)
			}
			return nil
		}
		b.mustSync(podOf(v1.RestartPolicyAlways, container("c")))
		wantCalls(t, b, "RunPodSandbox", "RunPodSandbox", "RunPodSandbox", "CreateContainer c#0", "CreateContainer c#1", "StartContainer c")
		if got := b.rt.snapshot().Sandboxes[0].Attempt; got != 2 {
			t.Errorf("sandbox has attempt %d; want 2", got)
		}
	})
}

func TestAFailedSandboxIsAnEventAndAnError(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.fail = func(string, string) error { return errors.New("no network") }
		_, err := b.sync(podOf(v1.RestartPolicyAlways, container("c")))
		if err == nil || !strings.Contains(err.Error(), "no network") {
			t.Errorf("error %v; want the runtime's", err)
		}
		if got := b.events.reasons(); !slices.Equal(got, []string{"FailedCreatePodSandBox"}) {
			t.Errorf("events %q", got)
		}
	})
}

func TestACreateFailureShowsItsReasonAndIsRetried(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"), container("d"))
		b.rt.fail = func(method, name string) error {
			if method == "CreateContainer" && name == "c" {
				return errors.New("no such profile")
			}
			return nil
		}
		res, err := b.sync(p)
		if err == nil {
			t.Fatal("no error")
		}
		if at := retryAt(t, err); !at.IsZero() {
			t.Errorf("retry at %v; want it left to the worker", at)
		}
		wantWaiting(t, res.Status, "c", "CreateContainerError", "no such profile")
		// The other container starts all the same.
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "CreateContainer d#0", "StartContainer d")
		b.rt.fail = nil
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{lifetime: time.Second, code: 3} }
		b.mustSync(p)
		if s := b.rt.snapshot().Container("c"); s.State != pod.Running {
			t.Errorf("container is %v after the retry", s.State)
		}
		// Its reason is history then.
		time.Sleep(2 * time.Second)
		res = b.mustSync(p)
		if end := res.Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 3 {
			t.Errorf("after its end the container is %+v; want it exited 3", res.Status.ContainerStatuses[0].State)
		}
	})
}

func TestAConfigThatCannotBeMadeShowsItsReason(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		yes := true
		p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{RunAsNonRoot: &yes}
		res, err := b.sync(p)
		if err == nil {
			t.Fatal("no error")
		}
		wantWaiting(t, res.Status, "c", "CreateContainerConfigError", "image will run as root")
		wantCalls(t, b, "RunPodSandbox")
	})
}

func TestAStartFailureShowsItsReason(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{noStart: "exec: not found"} }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		if _, err := b.sync(p); err == nil {
			t.Fatal("no error")
		}
		status, _ := b.syncer.Status(p.UID)
		wantWaiting(t, status, "c", "RunContainerError", "exec: not found")
	})
}

func TestAFailedInitContainerStartEndsTheSync(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.fail = func(method, _ string) error {
			if method == "CreateContainer" {
				return errors.New("no")
			}
			return nil
		}
		p := initPod(v1.RestartPolicyAlways, sidecar("s"), container("i"))
		b.sync(p)
		// The sidecar failed; had it started, i would come next: nothing does.
		wantCalls(t, b, "RunPodSandbox", "CreateContainer s#0")
	})
}

func TestASidecarThatCannotStartDoesNotHoldUpTheOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := initPod(v1.RestartPolicyAlways, sidecar("s1"), sidecar("s2"))
		started(t, b, p)
		for _, cs := range b.rt.status.Containers {
			if cs.Name != "c" {
				b.rt.exit(cs, 1, "")
			}
		}
		b.rt.fail = func(method, name string) error {
			if method == "CreateContainer" && name == "s1" {
				return errors.New("no")
			}
			return nil
		}
		if _, err := b.sync(p); err == nil {
			t.Error("the failure is not told")
		}
		wantCalls(t, b, "CreateContainer s1#1", "CreateContainer s2#1", "StartContainer s2")
	})
}

func TestTheEarliestOfSeveralBackOffsCounts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(cfg *runtimeapi.ContainerConfig) program {
			return program{lifetime: map[string]time.Duration{"a": 3 * time.Second, "b": time.Second}[cfg.Metadata.Name], code: 1}
		}
		p := podOf(v1.RestartPolicyAlways, container("a"), container("b"))
		b.mustSync(p)
		time.Sleep(4 * time.Second)
		b.mustSync(p)
		time.Sleep(4 * time.Second)
		_, err := b.sync(p)
		if at, want := retryAt(t, err), b.rt.snapshot().Container("b").FinishedAt.Add(10*time.Second); !at.Equal(want) {
			t.Errorf("retry at %v; want %v, when b may", at, want)
		}
	})
}

func TestCrashingContainersAreBackedOffAndTheErrorSaysUntilWhen(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{lifetime: time.Second, code: 1} }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		b.mustSync(p)
		time.Sleep(2 * time.Second)
		b.mustSync(p) // the first restart is at once
		for _, delay := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			time.Sleep(2 * time.Second)
			finished := b.rt.snapshot().Container("c").FinishedAt
			res, err := b.sync(p)
			if err == nil {
				t.Fatalf("restarts within its back-off of %v", delay)
			}
			wantWaiting(t, res.Status, "c", "CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=c pod=p_default(%s)", delay, testUID))
			at := retryAt(t, err)
			if !at.Equal(finished.Add(delay)) {
				t.Errorf("retry %v after its end; want %v", at.Sub(finished), delay)
			}
			time.Sleep(time.Until(at))
			b.mustSync(p)
		}
		if got := b.rt.snapshot().Container("c").RestartCount; got != 4 {
			t.Errorf("restart count %d; want 4", got)
		}
	})
}

func TestAnErrorWithoutATimeDoesNotWaitForABackOff(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{lifetime: time.Second, code: 1} }
		p := podOf(v1.RestartPolicyAlways, container("c"), container("d"))
		p.Spec.Containers[1].Image, p.Spec.Containers[1].ImagePullPolicy = "missing", v1.PullNever
		b.sync(p)
		for _, pause := range []time.Duration{2 * time.Second, 12 * time.Second} { // two restarts
			time.Sleep(pause)
			b.sync(p)
		}
		time.Sleep(2 * time.Second)
		_, err := b.sync(p)
		if at := retryAt(t, err); !at.Equal(time.Now().Add(10 * time.Second)) {
			t.Errorf("retry in %v; want 10s, before the back-off of 20s is over", time.Until(at))
		}
	})
}

func TestSandboxThatDiedIsReplacedAndInitBeginsAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(cfg *runtimeapi.ContainerConfig) program {
			if cfg.Metadata.Name == "i" {
				return program{lifetime: time.Second}
			}
			return program{}
		}
		p := initPod(v1.RestartPolicyAlways, container("i"))
		b.mustSync(p)
		time.Sleep(2 * time.Second)
		b.mustSync(p)
		log := b.rt.snapshot().Container("i").LogPath
		if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(log, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		b.rt.StopPodSandbox(t.Context(), "s1")
		before := len(b.calls())
		b.mustSync(p)
		b.rt.calls = b.rt.calls[before:]
		wantCalls(t, b, "StopPodSandbox", "RunPodSandbox", "CreateContainer i#1", "StartContainer i")
		if _, err := os.Stat(log); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the removed init container's log is still there: %v", err)
		}
		if !slices.Contains(b.events.reasons(), "SandboxChanged") {
			t.Errorf("events %q; want SandboxChanged", b.events.reasons())
		}
	})
}

func TestDeadlineIsToldAheadAndFailsThePod(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		p := deadline(podOf(v1.RestartPolicyAlways, container("c")))
		start := time.Now()
		res := b.mustSync(p)
		if want := start.Add(time.Minute); !res.Deadline.Equal(want) {
			t.Errorf("deadline %v; want %v", res.Deadline, want)
		}
		time.Sleep(time.Until(res.Deadline))
		for range 2 {
			res = b.mustSync(p)
			if !res.Terminal || res.Status.Phase != v1.PodFailed || res.Status.Reason != "DeadlineExceeded" {
				t.Errorf("terminal %v, %s %s; want Failed, DeadlineExceeded", res.Terminal, res.Status.Phase, res.Status.Reason)
			}
		}
		if got := b.events.reasons(); got[len(got)-1] != "DeadlineExceeded" || slices.Index(got, "DeadlineExceeded") != len(got)-1 {
			t.Errorf("events %q; want one DeadlineExceeded at the end", got)
		}
	})
}

func TestCancelEndsAPullButLetsACreationFinish(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel) // within RunPodSandbox
		_, err := b.syncer.Sync(ctx, podsync.SyncInput{Pod: podOf(v1.RestartPolicyAlways, container("c")), Status: b.rt.snapshot()})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v; want that it was cancelled", err)
		}
		wantCalls(t, b, "RunPodSandbox")
		if st := b.rt.snapshot(); len(st.Sandboxes) != 1 {
			t.Error("the sandbox was not finished")
		}
	})
}

func TestPostStartHookRunsAndItsFailureKillsTheContainer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.execs = func([]string) (time.Duration, int32) { return time.Second, 1 }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"up"}}}}
		if _, err := b.sync(p); err == nil {
			t.Fatal("no error")
		}
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "StartContainer c", "ExecSync c up", "StopContainer c 30s")
		if got := b.events.reasons(); !slices.Equal(got[3:], []string{"FailedPostStartHook", "Killing"}) {
			t.Errorf("events %q", got)
		}
		status, _ := b.syncer.Status(p.UID)
		wantWaiting(t, status, "c", "PostStartHookError", "command exited with 1")
		res, _ := b.sync(p)
		if res.Status.Phase != v1.PodRunning {
			t.Errorf("phase %s after the kill; want Running", res.Status.Phase)
		}
		for _, e := range b.events.list {
			if strings.Contains(e.Message, "secret output") {
				t.Errorf("event %s tells the hook's output", e.Reason)
			}
		}
	})
}

func TestContainersAreRenderedWithThePodsFacts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.opt.Annotations = func(*v1.Pod) (map[string]string, error) { return map[string]string{"podctl.io/owner": "run-1"}, nil }
		b.opt.Handler = func(*v1.Pod) (string, error) { return "kata", nil }
		rec := &recorder{fakeRuntime: b.rt}
		b.opt.Runtime = rec
		b.syncer = podsync.New(b.opt)
		p := podOf(v1.RestartPolicyAlways, container("c"))
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/data"}}
		b.mustSync(p)
		if rec.handler != "kata" || rec.sandbox.Annotations["podctl.io/owner"] != "run-1" || rec.sandbox.Linux.CgroupParent != "/kubepods/pod"+string(testUID) {
			t.Errorf("sandbox with handler %q, %v in %q", rec.handler, rec.sandbox.Annotations, rec.sandbox.Linux.CgroupParent)
		}
		c := rec.container
		if c.Image.Image != "sha256:busybox" || c.Mounts[0].HostPath != "/volumes/v" || c.Annotations[pod.HashAnnotation] != render.Hash(&p.Spec.Containers[0]) {
			t.Errorf("container from %v with %v", c.Image, c.Mounts)
		}
	})
}

type recorder struct {
	*fakeRuntime
	handler   string
	sandbox   *runtimeapi.PodSandboxConfig
	container *runtimeapi.ContainerConfig
}

func (r *recorder) RunPodSandbox(ctx context.Context, cfg *runtimeapi.PodSandboxConfig, handler string) (string, error) {
	r.handler, r.sandbox = handler, cfg
	return r.fakeRuntime.RunPodSandbox(ctx, cfg, handler)
}

func (r *recorder) CreateContainer(ctx context.Context, id string, cfg *runtimeapi.ContainerConfig, sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	r.container = cfg
	return r.fakeRuntime.CreateContainer(ctx, id, cfg, sandbox)
}
