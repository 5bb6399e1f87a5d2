package daemon

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/worker"
)

func TestServedWorkerRetryTime(t *testing.T) {
	now := time.Now()
	i := node.Info{
		Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
			Name: "c", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		}}},
		WorkerPhase: worker.Syncing,
		BackOffs:    map[string]podsync.BackOff{"c": {RetryAt: now.Add(time.Minute), Delay: 80 * time.Second}},
	}
	w := servedWorker(i, worker.Info{State: worker.State{Phase: worker.Syncing}}, now)
	want := control.Waiting{Container: "c", Reason: "CrashLoopBackOff", RetryAt: now.Add(time.Minute), BackOffSeconds: 80}
	if len(w.Waiting) != 1 || w.Waiting[0] != want {
		t.Errorf("waiting %+v, want %+v", w.Waiting, want)
	}
	if w.Phase != "syncing" || w.PodPhase != v1.PodRunning || w.PodStatus != "CrashLoopBackOff" || w.Rejected != "" {
		t.Errorf("%+v", w)
	}
}

// A clock that is set back does not put what the agent does into the future.
func TestServedTimesFollowTheClock(t *testing.T) {
	began := time.Now() // has the monotonic clock
	now := began.Add(time.Minute)
	if got := byClock(now, began); !got.Equal(began) {
		t.Errorf("%s, want %s", got, began)
	}
	if stored := began.Round(0); !byClock(now, stored).Equal(stored) || !byClock(now, time.Time{}).IsZero() {
		t.Error("a time without the monotonic clock, or none, was changed")
	}
}

func TestServedWorkerAdviceAndReadinessGates(t *testing.T) {
	i := node.Info{
		Pod: &v1.Pod{}, Rejected: hint.Errorf("ask for less", "no room"),
		Status: v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: pod.ReadinessGatesNotReady, Message: "gate lb is False"}}},
	}
	if w := servedWorker(i, worker.Info{}, time.Now()); w.Advice != "ask for less" || w.NotReady != "gate lb is False" {
		t.Errorf("advice %q, not ready %q", w.Advice, w.NotReady)
	}
}

func TestServedWorkerWaitingForName(t *testing.T) {
	retry := time.Now().Add(2 * time.Second)
	i := node.Info{
		Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}, Lifecycle: lifecycle.Waiting,
		Rejected: errors.New("its name is in use"), Wait: lifecycle.Wait{Reason: lifecycle.NameHeld, Tries: 1, RetryAt: retry}, NextWake: retry,
	}
	w := servedWorker(i, worker.Info{}, time.Now())
	if w.Rejected != "its name is in use" || w.WaitReason != "NameHeld" || w.PodStatus != "NameHeld" || w.PodPhase != v1.PodPending || !w.NextWake.Equal(retry) {
		t.Errorf("%+v", w)
	}
}

func TestServedWorkerWaitingForHostPort(t *testing.T) {
	taken := &event.HostPort{Port: 8080, Protocol: v1.ProtocolTCP, Namespace: "default", Name: "api"}
	for _, err := range []error{&node.HostPortInUseError{Taken: taken}, &admission.Error{Reason: event.NodePorts, HostPort: taken}} {
		i := node.Info{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}, Rejected: err}
		if w := servedWorker(i, worker.Info{}, time.Now()); w.HostPort != taken || !strings.HasSuffix(w.Rejected, ": default/api has port 8080/TCP") {
			t.Errorf("%T: host port %+v, rejected %q", err, w.HostPort, w.Rejected)
		}
	}
}
