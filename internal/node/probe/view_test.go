package probe

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
)

// TestInitialDelayRounding: the kubelet cuts start times to
// seconds, so that its first probe may come up to a second before the delay is
// over, and not a period later.
func TestInitialDelayRounding(t *testing.T) {
	started := time.Date(2026, 3, 1, 12, 0, 0, 900e6, time.UTC)
	view := viewOf(&v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
		Name: "c", ContainerID: "containerd://1", Started: new(true),
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}},
	}}}, "c")
	seen := State{ID: "1", Result: pod.ProbeFailure, Seen: started}
	if _, verdict := seen.Next(Readiness, &v1.Probe{InitialDelaySeconds: 10}, view, started.Add(9*time.Second+100*time.Millisecond)); verdict != Ask {
		t.Errorf("%v 9.1 s after the start; want %v", verdict, Ask)
	}
	if _, verdict := seen.Next(Readiness, &v1.Probe{InitialDelaySeconds: 10}, view, started.Add(9*time.Second)); verdict != Wait {
		t.Errorf("%v 9 s after the start; want %v", verdict, Wait)
	}
}
