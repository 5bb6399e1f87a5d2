package probe_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/probe"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// world is a pod as its status shows it, and what its probes do and say. It
// lives in a synctest bubble, where a second is a step.
type world struct {
	t     *testing.T
	m     *probe.Manager
	begun time.Time

	mu     sync.Mutex
	status v1.PodStatus
	// answer is that of an exec probe whose command is the word.
	answer func(ctx context.Context, word string) (string, int32, error)
	log    []string
}

const uid = ktypes.UID("u")

func inWorld(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, begun: time.Now()}
		w.m = probe.New(probe.Options{
			Exec: w, Status: w.known, Changed: func(_ *v1.Pod, t probe.Type) { w.note("changed %s", t) },
			Events: func(_ *v1.Pod, e event.Event) { w.note("%s %s: %s", e.Reason, e.Container, e.Message) },
			Brief: func(id ktypes.UID, text string, _ int) string {
				return strings.ReplaceAll(text, "secret of "+string(id), "***")
			},
			Observer: w, Jitter: func() float64 { return 0.5 },
		})
		test(w)
		w.m.Close()
	})
}

func (w *world) Exec(ctx context.Context, id string, command []string, _ time.Duration) ([]byte, int32, error) {
	w.note("%s in %s", command[0], id)
	if w.answer == nil {
		return nil, 0, nil
	}
	out, code, err := w.answer(ctx, command[0])
	return []byte(out), code, err
}

func (w *world) known(ktypes.UID) (v1.PodStatus, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.status.DeepCopy(), w.status.Phase != ""
}

func (w *world) Probed(_ *v1.Pod, c string, t probe.Type, a pod.ProbeResult, took time.Duration) {
	w.note("observed %s %s %s in %s", c, t, a, took)
}

func (w *world) Stopped(_ *v1.Pod, c string, t probe.Type) { w.note("stopped %s %s", c, t) }

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%d ", time.Since(w.begun)/time.Second)+fmt.Sprintf(format, args...))
}

// saw asserts what was noted since the last time, but for what is observed, and
// in any order within a second.
func (w *world) saw(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	got := slices.DeleteFunc(w.log, func(s string) bool { return strings.Contains(s, "observed") || strings.Contains(s, "stopped") })
	w.log = nil
	w.mu.Unlock()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("saw\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// runs shows that the container runs, since now, as this one.
func (w *world) runs(id string, started bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = v1.PodStatus{Phase: v1.PodRunning, PodIP: "192.0.2.7", ContainerStatuses: []v1.ContainerStatus{{
		Name: "c", ContainerID: "sim://" + id, Started: &started,
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}}
}

// podOf is a pod with a container c whose probes run the commands startup,
// liveness and readiness, every so many seconds; 0 is no probe.
func podOf(startup, liveness, readiness int32) *v1.Pod {
	of := func(word string, period int32) *v1.Probe {
		if period == 0 {
			return nil
		}
		return &v1.Probe{
			ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{word}}},
			PeriodSeconds: period, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 2,
		}
	}
	c := v1.Container{Name: "c", StartupProbe: of("startup", startup), LivenessProbe: of("liveness", liveness), ReadinessProbe: of("readiness", readiness)}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: v1.PodSpec{Containers: []v1.Container{c}}}
}

func (w *world) result(t probe.Type, id string) pod.ProbeResult {
	r := w.m.Results(uid)
	return map[probe.Type]map[string]pod.ProbeResult{probe.Startup: r.Startup, probe.Liveness: r.Liveness, probe.Readiness: r.Readiness}[t][id]
}

func sleep(seconds float64) { time.Sleep(time.Duration(seconds * float64(time.Second))) }
