package main

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestLoggedContainer(t *testing.T) {
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "containerd://old"}}
	waiting := func(reason string) v1.ContainerState {
		return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}
	}
	for _, c := range []struct {
		name     string
		status   v1.ContainerStatus
		previous bool
		want     string
		err      string
	}{
		{"runs", v1.ContainerStatus{State: running, ContainerID: "containerd://new", LastTerminationState: ended}, false, "new", ""},
		{"previous", v1.ContainerStatus{State: running, ContainerID: "containerd://new", LastTerminationState: ended}, true, "old", ""},
		{"no previous", v1.ContainerStatus{State: running, ContainerID: "containerd://new"}, true, "", `previous terminated container "c" in pod "p" not found`},
		{"ended", v1.ContainerStatus{State: ended}, false, "old", ""},
		{"waits for a restart", v1.ContainerStatus{State: waiting("CrashLoopBackOff"), LastTerminationState: ended}, false, "old", ""},
		{"waits for its image", v1.ContainerStatus{State: waiting("ImagePullBackOff")}, false, "", `container "c" in pod "p" is waiting to start: trying and failing to pull image`},
		{"waits", v1.ContainerStatus{State: waiting("ContainerCreating")}, false, "", `container "c" in pod "p" is waiting to start: ContainerCreating`},
		{"unknown", v1.ContainerStatus{}, false, "", `container "c" in pod "p" is waiting to start - no logs yet`},
	} {
		c.status.Name = "c"
		p := &v1.Pod{Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{c.status}}}
		p.Name = "p"
		got, err := loggedContainer(p, "c", c.previous)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("%s: %q, %q, want %q, %q", c.name, got, text, c.want, c.err)
		}
	}
}
