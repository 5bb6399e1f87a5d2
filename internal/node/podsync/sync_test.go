package podsync_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
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

// wantWaiting: container c waits for that reason.
func wantWaiting(t *testing.T, s v1.PodStatus, reason, message string) {
	t.Helper()
	const container = "c"
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

// TestStartNeedsFewestCalls: one container, its image present: these
// are all the calls there are, reads too.
func TestStartNeedsFewestCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		res := b.mustSync(podOf(v1.RestartPolicyNever, container("c")))
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "StartContainer c")
		if want := []string{"PodStatus", "ImageStatus"}; !slices.Equal(b.rt.reads, want) {
			t.Errorf("reads %q; want %q", b.rt.reads, want)
		}
		if want := []string{"mount", "cgroup"}; !slices.Equal(b.host.steps, want) {
			t.Errorf("host steps %q; want %q", b.host.steps, want)
		}
		if want := []string{"SandboxReady", "Pulled", "Created", "Started"}; !slices.Equal(b.events.reasons(), want) {
			t.Errorf("events %q; want %q", b.events.reasons(), want)
		}
		if !res.Acted || res.Terminal {
			t.Errorf("result %+v; want it to have acted", res)
		}
	})
}

func TestRunningPodNeedsNoActions(t *testing.T) {
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
		if info, err := os.Stat(filepath.Join(b.opt.Node.LogDirectory(p), "c")); err != nil || !info.IsDir() {
			t.Errorf("no log directory of the container: %v", err)
		}
	})
}

func TestAttemptContinuesFromLogFiles(t *testing.T) {
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

func TestNetworkNotReadyBlocksPodNetworkPods(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.hooks.networkReady = func() error { return errors.New("cni plugin not initialized") }
		b.syncer = podsync.New(b.opt)
		p := podOf(v1.RestartPolicyAlways, container("c"))
		_, err := b.sync(p)
		if !errors.Is(err, worker.ErrNetworkNotReady) || !strings.Contains(err.Error(), "cni plugin") {
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

func TestHostNotReadyCreatesNothing(t *testing.T) {
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

func TestUnrecordedPodCreatesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.hooks.sign = errors.New("no space left on device")
		b.host.err["cgroup"] = errors.New("asked for a pod without record")
		p := podOf(v1.RestartPolicyAlways, container("c"))
		if _, err := b.sync(p); !errors.Is(err, b.hooks.sign) {
			t.Errorf("error %v; want the host's", err)
		}
		wantCalls(t, b)
		if got := b.events.list; len(got) != 1 || got[0].Reason != "Failed" || got[0].Message != "error making pod data directories: no space left on device" {
			t.Errorf("events %+v", got)
		}
	})
}

func TestFullDiskErrorNamesStep(t *testing.T) {
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

func TestActiveDeadlineFailsPod(t *testing.T) {
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
			if !res.Deadline.IsZero() {
				t.Error("the deadline is still ahead")
			}
			if !res.Terminal || res.Status.Phase != v1.PodFailed || res.Status.Reason != "DeadlineExceeded" {
				t.Errorf("terminal %v, %s %s; want Failed, DeadlineExceeded", res.Terminal, res.Status.Phase, res.Status.Reason)
			}
		}
		if got := b.events.reasons(); got[len(got)-1] != "DeadlineExceeded" || slices.Index(got, "DeadlineExceeded") != len(got)-1 {
			t.Errorf("events %q; want one DeadlineExceeded at the end", got)
		}
	})
}

func TestContainersRenderedWithPodFacts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.hooks.annotations = func(*v1.Pod) (map[string]string, error) { return map[string]string{"podctl.io/owner": "run-1"}, nil }
		b.hooks.handler = "kata"
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
