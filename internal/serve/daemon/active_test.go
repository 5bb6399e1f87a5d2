package daemon

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/worker"
)

func TestFailedPodIsActiveUntilTerminated(t *testing.T) {
	for _, c := range []struct {
		phase  lifecycle.Phase
		stage  worker.Phase
		status v1.PodPhase
		active bool
	}{
		{lifecycle.Active, worker.Syncing, v1.PodRunning, true},
		{lifecycle.Active, worker.Syncing, v1.PodFailed, false},
		{lifecycle.Active, worker.Terminating, v1.PodFailed, true},
		{lifecycle.Active, worker.Terminated, v1.PodFailed, false},
		{lifecycle.Waiting, worker.Unknown, "", false},
		{lifecycle.Rejected, worker.Unknown, v1.PodFailed, false},
	} {
		i := node.Info{Lifecycle: c.phase, WorkerPhase: c.stage, Status: v1.PodStatus{Phase: c.status}}
		if got := isActive(i); got != c.active {
			t.Errorf("%s, %s, %s: active %v", c.phase, c.stage, c.status, got)
		}
	}
}
