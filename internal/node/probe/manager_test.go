package probe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/probe"
	"github.com/podctl/podctl/internal/pod"
)

func TestStartupProbeBlocksOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.answer = func(_ context.Context, word string) (string, int32, error) {
			if word == "startup" && time.Since(w.begun) < 5*time.Second {
				return "not yet", 1, nil
			}
			return "", 0, nil
		}
		p := podOf(2, 2, 2)
		p.Spec.Containers[0].StartupProbe.FailureThreshold = 10
		w.m.Add(p, false)
		sleep(0.5) // there is no status yet
		w.saw()
		w.runs("1", false)
		sleep(5)
		w.saw("2 startup in 1", "2 Unhealthy c: Startup probe failed: not yet", "4 startup in 1", "4 Unhealthy c: Startup probe failed: not yet")
		if r := w.result(probe.Startup, "1"); r != pod.ProbeUnknown {
			t.Errorf("startup is %v before its threshold", r)
		}
		sleep(1)
		w.saw("6 startup in 1", "6 changed Startup")
		w.runs("1", true)
		sleep(3)
		w.saw("8 liveness in 1", "8 readiness in 1", "8 changed Readiness")
		if w.result(probe.Startup, "1") != pod.ProbeSuccess || w.result(probe.Readiness, "1") != pod.ProbeSuccess {
			t.Errorf("results %+v", w.m.Results(uid))
		}
	})
}

// A container that was made and not started is known to the kubelet by a probe, whose first look has the pod
// synced: so the start is tried again.
func TestFirstLookAtAContainerThatWasNotStarted(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runs("1", false)
		w.status.ContainerStatuses[0].State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "RunContainerError"}}
		w.m.Add(podOf(2, 2, 2), false)
		sleep(5)
		w.saw("0 changed Readiness", "0 changed Startup")
	})
}

func TestFailedLivenessPausesUntilRestart(t *testing.T) {
	inWorld(t, func(w *world) {
		w.answer = func(context.Context, string) (string, int32, error) { return "sick", 1, nil }
		w.runs("1", true)
		w.m.Add(podOf(0, 1, 0), false)
		sleep(5.5)
		w.saw("0 liveness in 1", "0 Unhealthy c: Liveness probe failed: sick",
			"1 liveness in 1", "1 Unhealthy c: Liveness probe failed: sick", "1 changed Liveness")
		if w.result(probe.Liveness, "1") != pod.ProbeFailure {
			t.Error("liveness has not failed")
		}
		w.answer = nil
		w.runs("2", true)
		sleep(1)
		w.saw("6 liveness in 2")
		if w.result(probe.Liveness, "1") != pod.ProbeUnknown || w.result(probe.Liveness, "2") != pod.ProbeSuccess {
			t.Errorf("results %+v; want those of the new container alone", w.m.Results(uid))
		}
	})
}

func TestReadinessProbedAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.m.Add(podOf(0, 10, 10), false)
		sleep(3)
		w.runs("1", true)
		status, _ := w.known(uid)
		w.m.ProbeNow(uid, &status)
		w.saw("3 readiness in 1", "3 changed Readiness")
		sleep(8) // liveness was not hurried; readiness is due ten seconds after it was
		w.saw("10 liveness in 1")
		sleep(3)
		w.saw("13 readiness in 1")
		status.ContainerStatuses[0].Ready = true
		w.m.ProbeNow(uid, &status)
		w.saw()
	})
}

func TestProbeErrorsAreRetriedAndIgnored(t *testing.T) {
	inWorld(t, func(w *world) {
		w.answer = func(context.Context, string) (string, int32, error) { return "", 0, errors.New("no such task") }
		w.runs("1", true)
		w.m.Add(podOf(0, 1, 0), false)
		sleep(4.5)
		var want []string
		for i := range 5 {
			for range 3 {
				want = append(want, fmt.Sprint(i, " liveness in 1"))
			}
			want = append(want, fmt.Sprint(i, " Unhealthy c: Liveness probe errored and resulted in unknown state: no such task"))
		}
		w.saw(want...)
		if w.result(probe.Liveness, "1") != pod.ProbeSuccess {
			t.Error("what was no answer has counted as one")
		}
	})
}

func TestTerminationStopsStartupAndLiveness(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runs("1", false)
		w.answer = func(_ context.Context, word string) (string, int32, error) {
			return "", map[string]int32{"startup": 1}[word], nil
		}
		w.m.Add(podOf(5, 1, 1), false)
		w.saw("0 startup in 1", "0 Unhealthy c: Startup probe failed: ")
		w.m.Terminate(uid)
		if w.result(probe.Startup, "1") != pod.ProbeSuccess || w.result(probe.Liveness, "1") != pod.ProbeSuccess {
			t.Errorf("results %+v; want those that let readiness count", w.m.Results(uid))
		}
		w.runs("1", true)
		sleep(2.5)
		w.saw("1 readiness in 1", "1 changed Readiness", "2 readiness in 1")
		w.m.Remove(uid)
		sleep(5)
		w.saw()
		if r := w.m.Results(uid); len(r.Startup)+len(r.Liveness)+len(r.Readiness) > 0 {
			t.Errorf("results %+v of a pod that was removed", r)
		}
	})
}

func TestRemovedPodCancelsProbe(t *testing.T) {
	inWorld(t, func(w *world) {
		w.answer = func(ctx context.Context, _ string) (string, int32, error) {
			<-ctx.Done()
			return "", 0, ctx.Err()
		}
		w.runs("1", true)
		w.m.Add(podOf(0, 1, 1), false)
		w.saw("0 liveness in 1", "0 readiness in 1")
		w.m.Remove(uid)
		w.saw()
		// The same pod may come again at once.
		w.answer = nil
		w.m.Add(podOf(0, 0, 1), false)
		w.saw("0 readiness in 1", "0 changed Readiness")
	})
}

func TestAdoptedPodProbesAreSpread(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runs("1", true)
		w.m.Add(podOf(0, 0, 10), true)
		sleep(4)
		w.saw()
		sleep(2)
		w.saw("5 readiness in 1", "5 changed Readiness")
		w.m.Remove(uid)
		sleep(10) // podctl runs for longer than a period now
		w.m.Add(podOf(0, 0, 10), true)
		w.saw("16 readiness in 1", "16 changed Readiness")
	})
}

func TestProbedContainers(t *testing.T) {
	inWorld(t, func(w *world) {
		p := podOf(0, 0, 1)
		p.Spec.InitContainers = []v1.Container{*p.Spec.Containers[0].DeepCopy(), *p.Spec.Containers[0].DeepCopy()}
		p.Spec.InitContainers[0].Name, p.Spec.InitContainers[1].Name = "init", "sidecar"
		p.Spec.InitContainers[1].RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		w.runs("1", true)
		w.mu.Lock()
		for i, name := range []string{"init", "sidecar"} {
			cs := *w.status.ContainerStatuses[0].DeepCopy()
			cs.Name, cs.ContainerID = name, fmt.Sprint("sim://i", i)
			w.status.InitContainerStatuses = append(w.status.InitContainerStatuses, cs)
		}
		w.mu.Unlock()
		w.m.Add(p, false)
		w.m.Add(p, false) // once is enough
		w.saw("0 readiness in 1", "0 changed Readiness", "0 readiness in i1", "0 changed Readiness")
	})
}

func TestProbesStopWithPod(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runs("1", true)
		w.m.Add(podOf(0, 1, 0), false)
		w.saw("0 liveness in 1")
		w.mu.Lock()
		w.status.Phase, w.log = v1.PodFailed, nil
		w.mu.Unlock()
		sleep(5)
		w.mu.Lock()
		log := w.log
		w.mu.Unlock()
		if !slices.Equal(log, []string{"1 stopped c Liveness"}) {
			t.Errorf("%q; want the probe to have ended", log)
		}
		w.m.Close()
		w.m.Add(podOf(1, 1, 1), false)
		sleep(5)
		w.saw()
	})
}

func TestObserverSeesResults(t *testing.T) {
	inWorld(t, func(w *world) {
		w.answer = func(_ context.Context, word string) (string, int32, error) {
			sleep(0.25)
			return "", 1, nil
		}
		w.runs("1", true)
		w.m.Add(podOf(0, 0, 1), false)
		sleep(0.5)
		w.m.Remove(uid)
		synctest.Wait()
		want := []string{"0 readiness in 1", "0 observed c Readiness Failure in 250ms", "0 Unhealthy c: Readiness probe failed: ", "0 stopped c Readiness"}
		slices.Sort(want)
		w.mu.Lock()
		defer w.mu.Unlock()
		if slices.Sort(w.log); !slices.Equal(w.log, want) {
			t.Errorf("%q; want %q", w.log, want)
		}
	})
}

// Why a container is not ready can be asked for until its probe succeeds.
func TestUnreadyHasLastFailureAndCount(t *testing.T) {
	inWorld(t, func(w *world) {
		var well atomic.Bool
		w.answer = func(context.Context, string) (string, int32, error) {
			if well.Load() {
				return "", 0, nil
			}
			return "connection refused", 1, nil
		}
		w.runs("1", true)
		w.m.Add(podOf(0, 0, 1), false)
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		got := w.m.Unready(uid)
		if len(got) != 1 || got[0].Container != "c" || got[0].Probe.Type != "Readiness" || got[0].Probe.Failures != 3 || got[0].Probe.Output != "connection refused" {
			t.Errorf("unready %+v", got)
		}
		well.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := w.m.Unready(uid); len(got) != 0 {
			t.Errorf("unready %+v after a success", got)
		}
	})
}

// What a probe said has no secrets before it is cut.
func TestProbeOutputIsCutAndMasked(t *testing.T) {
	inWorld(t, func(w *world) {
		w.answer = func(context.Context, string) (string, int32, error) { return "secret of u", 1, nil }
		p := podOf(0, 0, 2)
		w.runs("1", true)
		w.m.Add(p, false)
		sleep(0.5)
		w.saw("0 readiness in 1", "0 Unhealthy c: Readiness probe failed: ***")
	})
}

// The failures of a container are those of that one: its successor begins at none, whatever
// the probe's threshold counts on from.
func TestFailureCountBeginsAnewWithEachContainer(t *testing.T) {
	inWorld(t, func(w *world) {
		w.answer = func(context.Context, string) (string, int32, error) { return "no", 1, nil }
		failures := func() (all []int32) {
			synctest.Wait()
			for _, u := range w.m.Unready(uid) {
				all = append(all, u.Probe.Failures)
			}
			return all
		}
		w.runs("1", true)
		w.m.Add(podOf(0, 1, 1), false)
		sleep(1.5)
		if got := failures(); !slices.Equal(got, []int32{2, 2}) {
			t.Errorf("first container: %v", got)
		}
		w.runs("2", true)
		sleep(1)
		if got := failures(); !slices.Equal(got, []int32{1, 1}) {
			t.Errorf("second container: %v", got)
		}
	})
}
