package podsync_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/pod"
)

// bench is a Syncer with a fake runtime and host.
type bench struct {
	t      *testing.T
	rt     *fakeRuntime
	host   *fakeHost
	events *eventLog
	hooks  *hooks
	opt    podsync.Options
	syncer *podsync.Syncer
	// probes are fed to the pod's syncs, by the test that simulates a prober.
	probesMu sync.Mutex
	probes   pod.ProbeResults
}

func (b *bench) probesNow(types.UID) pod.ProbeResults {
	b.probesMu.Lock()
	defer b.probesMu.Unlock()
	return pod.ProbeResults{Startup: maps.Clone(b.probes.Startup), Liveness: maps.Clone(b.probes.Liveness)}
}

func newBench(t *testing.T) *bench {
	host := &fakeHost{Manager: volume.New(t.TempDir()), err: map[string]error{}}
	b := &bench{t: t, rt: newFake(), host: host, events: &eventLog{}}
	b.hooks = &hooks{eventLog: b.events, probes: b.probesNow}
	b.opt = podsync.Options{
		Runtime: b.rt, Cgroups: b.host, Volumes: b.host, Host: b.hooks, RuntimeName: "containerd",
		Node: &render.Node{
			Name: "node", IPs: []string{"192.0.2.1"}, MemoryCapacity: 8 << 30,
			PodsDir: host.PodsDir(), LogDir: t.TempDir(), SeccompDir: t.TempDir(),
		},
	}
	b.syncer = podsync.New(b.opt)
	return b
}

func (b *bench) sync(p *v1.Pod) (podsync.Result, error) {
	return b.syncer.Sync(b.t.Context(), podsync.SyncInput{Pod: p, Status: b.rt.snapshot()})
}

// syncWith syncs a pod whose containers an earlier podctl started.
func (b *bench) syncWith(p *v1.Pod, adopted *pod.Allocation) {
	b.t.Helper()
	if _, err := b.syncer.Sync(b.t.Context(), podsync.SyncInput{Pod: p, Status: b.rt.snapshot(), Adopted: adopted}); err != nil {
		b.t.Fatalf("Sync: %v", err)
	}
}

func (b *bench) mustSync(p *v1.Pod) podsync.Result {
	b.t.Helper()
	res, err := b.sync(p)
	if err != nil {
		b.t.Fatalf("Sync: %v", err)
	}
	return res
}

func (b *bench) terminate(ctx context.Context, p *v1.Pod, grace *int64) (podsync.Result, error) {
	return b.syncer.Terminate(ctx, podsync.TerminateInput{
		Pod: p, Status: b.rt.snapshot(), Grace: grace,
		Fresh: func(context.Context) (*pod.Status, error) { return b.rt.snapshot(), nil },
	})
}

func (b *bench) calls() []call {
	b.rt.mu.Lock()
	defer b.rt.mu.Unlock()
	return append([]call(nil), b.rt.calls...)
}

const (
	resync     = time.Minute
	afterError = 10 * time.Second
	// jitter is one that the worker may draw, near those of the recordings.
	jitter = 1.4
)

// drive does what the pod's worker does, until the pod is Terminated: it
// syncs after every change, when a retry or the deadline is due, and at the
// resync; and it terminates the pod once it is removed or has ended.
func (b *bench) drive(p *v1.Pod, removed time.Duration) podsync.Result {
	start := time.Now()
	remove := start.Add(removed)
	for {
		if !time.Now().Before(remove) {
			grace := max(1, *p.Spec.TerminationGracePeriodSeconds)
			return b.finish(p, &grace)
		}
		res, err := b.sync(p)
		if res.Terminal {
			return b.finish(p, nil)
		}
		wake := wait(err)
		if !res.Deadline.IsZero() {
			wake = min(wake, time.Until(res.Deadline))
		}
		timer := time.NewTimer(min(wake, time.Until(remove)))
		select {
		case <-timer.C:
		case <-b.rt.changed:
			timer.Stop()
		}
	}
}

func (b *bench) finish(p *v1.Pod, grace *int64) podsync.Result {
	for {
		_, err := b.terminate(b.t.Context(), p, grace)
		if err == nil {
			break
		}
		time.Sleep(wait(err))
	}
	res, err := b.syncer.Cleanup(b.t.Context(), p, b.rt.snapshot())
	if err != nil {
		b.t.Errorf("Cleanup: %v", err)
	}
	return res
}

// wait is how long the worker waits after a sync (docs/worker.md, Requeueing).
func wait(err error) time.Duration {
	if err == nil {
		return resync
	}
	d := afterError
	var r interface{ RetryAt() (time.Time, bool) }
	if errors.As(err, &r) {
		if at, ok := r.RetryAt(); ok {
			d = min(max(0, time.Until(at)), resync)
		}
	}
	return time.Duration(float64(d) * jitter)
}

// podOf is a pod, defaulted as far as podsync looks.
func podOf(policy v1.RestartPolicy, containers ...v1.Container) *v1.Pod {
	p := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: policy, Containers: containers}}
	p.Name, p.Namespace, p.UID = "p", "default", testUID
	return defaulted(p)
}

func defaulted(p *v1.Pod) *v1.Pod {
	if p.Spec.RestartPolicy == "" {
		p.Spec.RestartPolicy = v1.RestartPolicyAlways
	}
	if p.Spec.DNSPolicy == "" {
		p.Spec.DNSPolicy = v1.DNSClusterFirst
	}
	if p.Spec.SecurityContext == nil {
		p.Spec.SecurityContext = &v1.PodSecurityContext{}
	}
	if p.Spec.TerminationGracePeriodSeconds == nil {
		grace := int64(30)
		p.Spec.TerminationGracePeriodSeconds = &grace
	}
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			c := &list[i]
			if c.Image == "" {
				c.Image = testImage
			}
			if c.ImagePullPolicy == "" {
				c.ImagePullPolicy = v1.PullIfNotPresent
			}
			if c.TerminationMessagePath == "" {
				c.TerminationMessagePath, c.TerminationMessagePolicy = "/dev/termination-log", v1.TerminationMessageReadFile
			}
		}
	}
	return p
}

func container(name string) v1.Container { return v1.Container{Name: name} }

func sidecar(name string) v1.Container {
	always := v1.ContainerRestartPolicyAlways
	return v1.Container{Name: name, RestartPolicy: &always}
}

func metav1Time(t time.Time) metav1.Time { return metav1.NewTime(t) }
