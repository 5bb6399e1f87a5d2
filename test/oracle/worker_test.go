package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// TestWorker gives every recorded history to worker.Workers, a step at a time
// and run to quiescence after each, and compares the calls of Ops, what
// SyncKnownPods returned, the waiters released and the answers to all queries.
// Time does not pass, so that no retry of podctl's own comes between.
func TestWorker(t *testing.T) {
	for _, history := range readWorkerHistories(t, oracleDir(t, "worker")) {
		t.Run(fmt.Sprintf("case-%d", history.Case), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { replayWorker(t, history) })
		})
	}
}

// workerHistory is one line of cases.jsonl.
type workerHistory struct {
	Case           int          `json:"case"`
	RuntimeRunning bool         `json:"runtimeRunning"`
	Steps          []workerStep `json:"steps"`
}

// workerStep is one event, and under "what came of it" the kubelet's answer.
type workerStep struct {
	Do        string      `json:"do"`
	UID       types.UID   `json:"uid"`
	Name      string      `json:"name"`
	Static    bool        `json:"static"`
	Type      string      `json:"type"`
	SpecGrace *int64      `json:"specGrace"`
	Grace     *int64      `json:"grace"`
	Evict     bool        `json:"evict"`
	Waiter    int         `json:"waiter"`
	Phase     v1.PodPhase `json:"phase"`
	Desired   []types.UID `json:"desired"`
	Op        string      `json:"op"`
	Result    string      `json:"result"`

	// What came of it.
	Calls    []workerCall    `json:"calls"`
	Known    []workerKnown   `json:"known"`
	Released []int           `json:"released"`
	Pods     []workerAnswers `json:"pods"`
}

type workerCall struct {
	UID   types.UID `json:"uid"`
	Op    string    `json:"op"`
	Type  string    `json:"type"`
	Grace *int64    `json:"grace"`
}

type workerKnown struct {
	UID       types.UID `json:"uid"`
	State     string    `json:"state"`
	Orphan    bool      `json:"orphan"`
	HasConfig bool      `json:"hasConfig"`
	Static    bool      `json:"static"`
}

type workerAnswers struct {
	UID                              types.UID `json:"uid"`
	Known                            bool      `json:"known"`
	CouldHaveRunningContainers       bool      `json:"couldHaveRunningContainers"`
	ShouldPodContainersBeTerminating bool      `json:"shouldPodContainersBeTerminating"`
	ShouldPodRuntimeBeRemoved        bool      `json:"shouldPodRuntimeBeRemoved"`
	ShouldPodContentBeRemoved        bool      `json:"shouldPodContentBeRemoved"`
	ShouldPodBeFinished              bool      `json:"shouldPodBeFinished"`
	IsPodTerminationRequested        bool      `json:"isPodTerminationRequested"`
	IsPodKnownTerminated             bool      `json:"isPodKnownTerminated"`
}

func readWorkerHistories(t *testing.T, dir string) []workerHistory {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []workerHistory
	for lines := json.NewDecoder(file); lines.More(); {
		var h workerHistory
		if err := lines.Decode(&h); err != nil {
			t.Fatalf("history %d: %v", len(all)+1, err)
		}
		all = append(all, h)
	}
	if len(all) == 0 {
		t.Fatalf("%s holds no history", dir)
	}
	return all
}

func replayWorker(t *testing.T, h workerHistory) {
	ops := newWorkerOps()
	workers := worker.New(worker.Options{Ops: ops})
	waiters := map[int]chan struct{}{}
	synced := false
	for i, s := range h.Steps {
		synced = synced || s.Do == "syncKnown"
		returned := giveWorker(t, workers, ops, waiters, h, s)
		synctest.Wait()

		what := fmt.Sprintf("step %d (%s %s)", i+1, s.Do, s.UID)
		if diff := cmp.Diff(callsByUID(s.Calls), callsByUID(ops.take()), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: calls (-kubelet +podctl):\n%s", what, diff)
		}
		if diff := cmp.Diff(s.Known, returned, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: known (-kubelet +podctl):\n%s", what, diff)
		}
		for _, want := range s.Pods {
			if diff := cmp.Diff(want, askWorker(workers, want.UID, synced)); diff != "" {
				t.Fatalf("%s: queries (-kubelet +podctl):\n%s", what, diff)
			}
		}
		checkWorkerReleased(t, what, h.Steps[:i+1], waiters)
	}
	if err := workers.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// giveWorker hands one step to the workers, and returns the map that SyncKnownPods
// returned, in order of UID.
func giveWorker(t *testing.T, w *worker.Workers, ops *workerOps, waiters map[int]chan struct{}, h workerHistory, s workerStep) []workerKnown {
	update := worker.Update{Pod: workerPod(s), Exclusive: s.Static, RuntimeEmpty: !h.RuntimeRunning}
	switch s.Do {
	case "update":
		update.Type = map[string]worker.UpdateType{
			"create": worker.TypeCreate, "update": worker.TypeUpdate, "sync": worker.TypeSync,
		}[s.Type]
		w.Update(update)
	case "delete":
		update.Type = worker.TypeUpdate
		update.Pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		update.Pod.DeletionGracePeriodSeconds = s.Grace
		w.Update(update)
	case "phase":
		update.Type = worker.TypeUpdate
		update.Pod.Status.Phase = s.Phase
		w.Update(update)
	case "kill":
		options := worker.KillOptions{Grace: s.Grace, Evict: s.Evict, RuntimeEmpty: !h.RuntimeRunning}
		if s.Waiter != 0 {
			waiters[s.Waiter] = make(chan struct{})
			options.Done = waiters[s.Waiter]
		}
		w.Kill(update.Pod, s.Static, options)
	case "orphan":
		// The kubelet does not know of a runtime-only pod that it is static.
		w.KillRuntime(&pod.Pod{UID: s.UID, Name: s.Name, Namespace: "ns"}, false)
	case "next":
		ops.script(s.UID, s.Op, s.Result)
	case "syncKnown":
		var desired []*v1.Pod
		for _, uid := range s.Desired {
			desired = append(desired, &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}})
		}
		var all []workerKnown
		returned := w.SyncKnownPods(desired)
		for _, uid := range slices.Sorted(maps.Keys(returned)) {
			k := returned[uid]
			all = append(all, workerKnown{UID: uid, State: k.Phase.Lifecycle(), Orphan: k.Orphan, HasConfig: k.HasConfig, Static: k.Static})
		}
		return all
	default:
		t.Fatalf("step %q is not known", s.Do)
	}
	return nil
}

func workerPod(s workerStep) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: s.UID, Name: s.Name, Namespace: "ns"}}
	p.Spec.TerminationGracePeriodSeconds = s.SpecGrace
	if s.Static {
		p.Annotations = map[string]string{pod.ConfigSourceAnnotation: "file"}
	}
	return p
}

// askWorker answers the kubelet's questions about a pod. Those that podctl does not ask
// follow from the pod's state, and of an unknown pod from whether the worker has synced.
func askWorker(w *worker.Workers, uid types.UID, synced bool) workerAnswers {
	answers := workerAnswers{
		UID:                              uid,
		Known:                            w.IsPodKnown(uid),
		CouldHaveRunningContainers:       !synced,
		ShouldPodContainersBeTerminating: synced,
		ShouldPodRuntimeBeRemoved:        synced,
		ShouldPodContentBeRemoved:        w.ShouldPodContentBeRemoved(uid),
		ShouldPodBeFinished:              synced,
		IsPodTerminationRequested:        w.IsPodTerminationRequested(uid),
		IsPodKnownTerminated:             w.IsPodKnownTerminated(uid),
	}
	for _, pod := range w.Snapshot() {
		if pod.UID == uid {
			answers.CouldHaveRunningContainers = pod.Phase < worker.Terminated
			answers.ShouldPodContainersBeTerminating = pod.TerminatingSeen
			answers.ShouldPodRuntimeBeRemoved = pod.Phase >= worker.Terminated
			answers.ShouldPodBeFinished = pod.Phase == worker.Finished
		}
	}
	return answers
}

// checkWorkerReleased compares the waiters released so far. podctl may have
// released more, if the kubelet leaks them: it shows the pod that the waiter
// waits for as finished or unknown, and still does not release it.
func checkWorkerReleased(t *testing.T, what string, steps []workerStep, waiters map[int]chan struct{}) {
	t.Helper()
	last := steps[len(steps)-1]
	for id, done := range waiters {
		released := false
		select {
		case <-done:
			released = true
		default:
		}
		kubelet := slices.Contains(last.Released, id)
		switch {
		case kubelet && !released:
			t.Errorf("%s: waiter %d is not released", what, id)
		case released && !kubelet && !workerLeaks(steps, id):
			t.Errorf("%s: waiter %d is released, and the pod is not down", what, id)
		}
	}
}

// workerLeaks reports whether the pod that the waiter waits for was finished or
// unknown in the recording, at or after the kill.
func workerLeaks(steps []workerStep, waiter int) bool {
	kill := slices.IndexFunc(steps, func(s workerStep) bool { return s.Waiter == waiter })
	uid := steps[kill].UID
	return slices.ContainsFunc(steps[kill:], func(s workerStep) bool {
		return slices.ContainsFunc(s.Pods, func(a workerAnswers) bool {
			return a.UID == uid && (!a.Known || a.ShouldPodBeFinished)
		})
	})
}

// callsByUID groups calls by pod; of one pod they stay in order.
func callsByUID(calls []workerCall) []workerCall {
	return slices.SortedStableFunc(slices.Values(calls), func(a, b workerCall) int {
		return strings.Compare(string(a.UID), string(b.UID))
	})
}
