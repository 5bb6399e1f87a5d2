package trace

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/relay"
)

func TestResultShowsTheFieldsThatMatter(t *testing.T) {
	for want, call := range map[string]testCall{
		"ok, grace 30s": {method: runtimeService + "StopContainer", request: &runtimeapi.StopContainerRequest{ContainerId: "c", Timeout: 30}},
		"ok, handler kata, attempt 2, 3f9c21aa00000": {
			method: runtimeService + "RunPodSandbox",
			request: &runtimeapi.RunPodSandboxRequest{RuntimeHandler: "kata", Config: &runtimeapi.PodSandboxConfig{
				Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Attempt: 2},
			}},
			response: &runtimeapi.RunPodSandboxResponse{PodSandboxId: sandboxID},
		},
		"ok, image busybox:1.37, 77ab00cc00000": {
			method: runtimeService + "CreateContainer",
			request: &runtimeapi.CreateContainerRequest{Config: &runtimeapi.ContainerConfig{Image: &runtimeapi.ImageSpec{
				Image: "sha256:aaaabbbbccccddddeeee", UserSpecifiedImage: "busybox:1.37",
			}}},
			response: &runtimeapi.CreateContainerResponse{ContainerId: containerID},
		},
		"ok, sh …, exit code 1, 5 bytes": {
			method: runtimeService + "ExecSync", request: &runtimeapi.ExecSyncRequest{Cmd: []string{"sh", "-c", "false"}},
			response: &runtimeapi.ExecSyncResponse{ExitCode: 1, Stdout: []byte("hello")},
		},
		"ok, exited 137 OOMKilled": {
			method: runtimeService + "ContainerStatus", request: &runtimeapi.ContainerStatusRequest{ContainerId: "c"},
			response: &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: runtimeapi.ContainerState_CONTAINER_EXITED, ExitCode: 137, Reason: "OOMKilled"}},
		},
		"ok, 1 sandbox":   {method: runtimeService + "ListPodSandbox", response: &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{{}}}},
		"ok, not present": {method: imageService + "ImageStatus", request: &runtimeapi.ImageStatusRequest{}, response: &runtimeapi.ImageStatusResponse{}},
		"ok, not NetworkReady: cni plugin not initialized": {method: runtimeService + "Status", response: &runtimeapi.StatusResponse{
			Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{{Type: "RuntimeReady", Status: true}, {Type: "NetworkReady", Reason: "cni plugin not initialized"}}},
		}},
		"NotFound: no such container": {method: runtimeService + "ContainerStatus", code: codes.NotFound, status: "no such container"},
	} {
		if got := add(t, &Tracer{}, call).Result(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhatIsNotUnderstoodIsShownByNameAndTime(t *testing.T) {
	tracer := &Tracer{}
	c := &relay.Call{ID: 1, Method: "/runtime.v9.RuntimeService/Fly", Start: begin, End: begin.Add(time.Second)}
	tracer.Began(c)
	tracer.Message(c, relay.FromCaller, relay.Message{Size: 3, Data: []byte("\xff\xff\xff")})
	if e := tracer.Ended(c); e.Service != "runtime.v9.RuntimeService" || e.Method != "Fly" || e.Took != time.Second || e.Data().Request != nil {
		t.Errorf("%+v", e)
	}
	c = &relay.Call{ID: 2, Method: runtimeService + "StopContainer", Start: begin, End: begin}
	tracer.Began(c)
	tracer.Message(c, relay.FromCaller, relay.Message{Size: 2, Data: []byte{0xff, 0xff}})
	tracer.Message(c, relay.FromRuntime, relay.Message{Size: 99 << 20}) // was too large to be kept
	if e := tracer.Ended(c); e.Method != "StopContainer" || e.Data().Request != nil || e.Data().Response != nil {
		t.Errorf("%+v", e)
	}
}

// A message of a newer CRI has fields that are not known.
func TestUnknownFieldsAreNoObstacle(t *testing.T) {
	data := protowire.AppendTag(nil, 1, protowire.BytesType)
	data = protowire.AppendString(data, "c")
	data = protowire.AppendTag(data, 999, protowire.BytesType)
	data = protowire.AppendString(data, "new")
	tracer := &Tracer{}
	c := &relay.Call{ID: 1, Method: runtimeService + "StartContainer", Start: begin, End: begin}
	tracer.Began(c)
	tracer.Message(c, relay.FromCaller, relay.Message{Size: len(data), Data: data})
	if e := tracer.Ended(c); e.Target.ContainerID != "c" {
		t.Errorf("%+v", e.Target)
	}
}

func TestCallsInFlightAreShownOnceTheyAreOverdue(t *testing.T) {
	tracer := &Tracer{}
	tracer.Began(&relay.Call{ID: 1, Method: runtimeService + "StopContainer", Start: begin, Timeout: 2 * time.Minute})
	tracer.Began(&relay.Call{ID: 2, Method: runtimeService + "GetContainerEvents", Start: begin})
	tracer.Began(&relay.Call{ID: 3, Method: runtimeService + "Version", Start: begin.Add(4 * time.Second)})
	if all := tracer.InFlight(begin.Add(4 * time.Second)); len(all) != 3 || all[0].Took != 4*time.Second || all[0].Result() != "in flight, deadline in 1m56s" || all[2].Result() != "in flight, without a deadline" {
		t.Errorf("%+v", all)
	}
	if overdue := tracer.Overdue(begin.Add(4*time.Second), 5*time.Second); len(overdue) != 0 {
		t.Errorf("%+v", overdue)
	}
	if overdue := tracer.Overdue(begin.Add(6*time.Second), 5*time.Second); len(overdue) != 1 || overdue[0].Method != "StopContainer" {
		t.Errorf("%+v", overdue)
	}
	if overdue := tracer.Overdue(begin.Add(7*time.Second), 5*time.Second); len(overdue) != 0 {
		t.Errorf("shown twice: %+v", overdue)
	}
}
