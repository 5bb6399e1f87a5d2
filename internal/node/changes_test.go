package node

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestRestartOfAllContainersSendsOneEvent(t *testing.T) {
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	asked := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "a-1", ExitCode: 42, Message: "again\n"}}
	gone := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "RestartingAllContainers", ExitCode: 137}}
	status := func(is v1.ConditionStatus, a, b v1.ContainerState, last v1.ContainerState) *v1.PodStatus {
		return &v1.PodStatus{
			Conditions: []v1.PodCondition{{Type: v1.AllContainersRestarting, Status: is}},
			ContainerStatuses: []v1.ContainerStatus{
				{Name: "a", ContainerID: "a-1", State: a, LastTerminationState: last}, {Name: "b", ContainerID: "b-1", State: b, LastTerminationState: last},
			},
		}
	}
	waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}
	history := []*v1.PodStatus{
		status(v1.ConditionFalse, running, running, v1.ContainerState{}),
		status(v1.ConditionTrue, asked, running, v1.ContainerState{}),
		status(v1.ConditionFalse, waiting, waiting, gone),
	}
	var said []string
	for i := 1; i < len(history); i++ {
		for _, ev := range changes(history[i-1], history[i]) {
			said = append(said, ev.Text())
		}
	}
	want := []string{`a exited 42: "again"`, "a restart rule asks for it: all containers are restarted"}
	if !slices.Equal(said, want) {
		t.Errorf("events %q; want %q", said, want)
	}
}

func TestRestartSendsExitedBeforeRunning(t *testing.T) {
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	status := func(id string, last v1.ContainerState) *v1.PodStatus {
		return &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "a", ContainerID: id, State: running, LastTerminationState: last}}}
	}
	ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "a-1", ExitCode: 137}}
	var said []string
	for _, ev := range changes(status("a-1", v1.ContainerState{}), status("a-2", ended)) {
		said = append(said, ev.Text())
	}
	if want := []string{"a exited 137", "a runs"}; !slices.Equal(said, want) {
		t.Errorf("events %q; want %q", said, want)
	}
}
