package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

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

// TestSyncContinuesAfterCrashAtAnyCall fails each call of a start in turn, before
// or after it had its effect, and forgets all that was remembered: the pod
// still comes up, and no container runs twice.
func TestSyncContinuesAfterCrashAtAnyCall(t *testing.T) {
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

func TestReservedNameRaisesAttempt(t *testing.T) {
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

func TestDeadSandboxIsReplacedAndInitReruns(t *testing.T) {
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
		if err := b.rt.StopPodSandbox(t.Context(), "s1"); err != nil {
			t.Fatal(err)
		}
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

func TestCancelStopsPullNotCreate(t *testing.T) {
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
		if got := b.events.reasons(); len(got) > 0 {
			t.Errorf("events %q; a cancel is no failure", got)
		}
	})
}
