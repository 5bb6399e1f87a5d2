package trace

import (
	"testing"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

const (
	sandboxID   = "3f9c21aa00000000000000000000000000000000000000000000000000000001"
	containerID = "77ab00cc00000000000000000000000000000000000000000000000000000002"
)

func sandboxConfig() *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "u"}}
}

// TestNamesAreLearned shows a call that names pod or container, then a call by id.
func TestNamesAreLearned(t *testing.T) {
	stop := testCall{method: runtimeService + "StopContainer", request: &runtimeapi.StopContainerRequest{ContainerId: containerID, Timeout: 30}}
	stopSandbox := testCall{method: runtimeService + "StopPodSandbox", request: &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandboxID}}
	meta := &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default"}
	container := &runtimeapi.ContainerMetadata{Name: "cache"}
	run := testCall{method: runtimeService + "RunPodSandbox", request: &runtimeapi.RunPodSandboxRequest{Config: sandboxConfig()}, response: &runtimeapi.RunPodSandboxResponse{PodSandboxId: sandboxID}}
	create := testCall{method: runtimeService + "CreateContainer", request: &runtimeapi.CreateContainerRequest{
		PodSandboxId: sandboxID, SandboxConfig: sandboxConfig(), Config: &runtimeapi.ContainerConfig{Metadata: container},
	}, response: &runtimeapi.CreateContainerResponse{ContainerId: containerID}}
	list := func(method string, response proto.Message) testCall {
		return testCall{method: runtimeService + method, response: response}
	}
	listed := &runtimeapi.PodSandbox{Id: sandboxID, Metadata: meta}
	listedContainer := &runtimeapi.Container{Id: containerID, PodSandboxId: sandboxID, Metadata: container}
	for name, c := range map[string]struct {
		before []testCall
		call   testCall
		want   string
	}{
		"nothing is known":            {nil, stop, "77ab00cc00000"},
		"of a sandbox":                {nil, stopSandbox, "3f9c21aa00000"},
		"run names itself":            {nil, run, "default/web"},
		"run":                         {[]testCall{run}, stopSandbox, "default/web"},
		"create names itself":         {nil, create, "default/web/cache"},
		"create":                      {[]testCall{create}, stop, "default/web/cache"},
		"create names its pod":        {[]testCall{create}, stopSandbox, "default/web"},
		"list of sandboxes":           {[]testCall{list("ListPodSandbox", &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{listed}})}, stopSandbox, "default/web"},
		"streamed list of sandboxes":  {[]testCall{list("StreamPodSandboxes", &runtimeapi.StreamPodSandboxesResponse{PodSandboxes: []*runtimeapi.PodSandbox{listed}})}, stopSandbox, "default/web"},
		"list of containers":          {[]testCall{run, list("ListContainers", &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{listedContainer}})}, stop, "default/web/cache"},
		"streamed list of containers": {[]testCall{run, list("StreamContainers", &runtimeapi.StreamContainersResponse{Containers: []*runtimeapi.Container{listedContainer}})}, stop, "default/web/cache"},
		"containers before their pod": {[]testCall{list("ListContainers", &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{listedContainer}}), run}, stop, "default/web/cache"},
		"status of a sandbox":         {[]testCall{list("PodSandboxStatus", &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{Id: sandboxID, Metadata: meta}})}, stopSandbox, "default/web"},
		"event": {[]testCall{list("GetContainerEvents", &runtimeapi.ContainerEventResponse{
			PodSandboxStatus: &runtimeapi.PodSandboxStatus{Id: sandboxID, Metadata: meta}, ContainersStatuses: []*runtimeapi.ContainerStatus{{Id: containerID, Metadata: container}},
		})}, stop, "default/web/cache"},
		"exec":          {[]testCall{create}, testCall{method: runtimeService + "ExecSync", request: &runtimeapi.ExecSyncRequest{ContainerId: containerID}}, "default/web/cache"},
		"filtered list": {[]testCall{create}, testCall{method: runtimeService + "ListContainers", request: &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{PodSandboxId: sandboxID}}}, "default/web"},
		"whole list":    {[]testCall{create}, testCall{method: runtimeService + "ListContainers", request: &runtimeapi.ListContainersRequest{}}, ""},
		"image":         {nil, testCall{method: imageService + "PullImage", request: &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "busybox:1"}}}, "busybox:1"},
		"runtime":       {nil, testCall{method: runtimeService + "Version", request: &runtimeapi.VersionRequest{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tracer := &Tracer{}
			for _, b := range c.before {
				add(t, tracer, b)
			}
			if got := add(t, tracer, c.call).Target.String(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestNamesOfPodsThatExist(t *testing.T) {
	tracer := &Tracer{}
	tracer.Names.LearnPods([]*pod.Pod{{
		Namespace: "kube", Name: "dns", Sandboxes: []*pod.Sandbox{{ID: sandboxID}}, Containers: []*pod.Container{{ID: containerID, SandboxID: sandboxID, Name: "dns"}},
	}})
	e := add(t, tracer, testCall{method: runtimeService + "StartContainer", request: &runtimeapi.StartContainerRequest{ContainerId: containerID}})
	if got := e.Target.String(); got != "kube/dns/dns" {
		t.Error(got)
	}
}
