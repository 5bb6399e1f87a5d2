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
	stop := made{method: runtimeService + "StopContainer", request: &runtimeapi.StopContainerRequest{ContainerId: containerID, Timeout: 30}}
	stopSandbox := made{method: runtimeService + "StopPodSandbox", request: &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandboxID}}
	meta := &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default"}
	container := &runtimeapi.ContainerMetadata{Name: "cache"}
	run := made{method: runtimeService + "RunPodSandbox", request: &runtimeapi.RunPodSandboxRequest{Config: sandboxConfig()}, response: &runtimeapi.RunPodSandboxResponse{PodSandboxId: sandboxID}}
	create := made{method: runtimeService + "CreateContainer", request: &runtimeapi.CreateContainerRequest{
		PodSandboxId: sandboxID, SandboxConfig: sandboxConfig(), Config: &runtimeapi.ContainerConfig{Metadata: container},
	}, response: &runtimeapi.CreateContainerResponse{ContainerId: containerID}}
	list := func(method string, response proto.Message) made {
		return made{method: runtimeService + method, response: response}
	}
	listed := &runtimeapi.PodSandbox{Id: sandboxID, Metadata: meta}
	listedContainer := &runtimeapi.Container{Id: containerID, PodSandboxId: sandboxID, Metadata: container}
	for name, c := range map[string]struct {
		before []made
		call   made
		want   string
	}{
		"nothing is known":            {nil, stop, "77ab00cc00000"},
		"of a sandbox":                {nil, stopSandbox, "3f9c21aa00000"},
		"run names itself":            {nil, run, "default/web"},
		"run":                         {[]made{run}, stopSandbox, "default/web"},
		"create names itself":         {nil, create, "default/web/cache"},
		"create":                      {[]made{create}, stop, "default/web/cache"},
		"create names its pod":        {[]made{create}, stopSandbox, "default/web"},
		"list of sandboxes":           {[]made{list("ListPodSandbox", &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{listed}})}, stopSandbox, "default/web"},
		"streamed list of sandboxes":  {[]made{list("StreamPodSandboxes", &runtimeapi.StreamPodSandboxesResponse{PodSandboxes: []*runtimeapi.PodSandbox{listed}})}, stopSandbox, "default/web"},
		"list of containers":          {[]made{run, list("ListContainers", &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{listedContainer}})}, stop, "default/web/cache"},
		"streamed list of containers": {[]made{run, list("StreamContainers", &runtimeapi.StreamContainersResponse{Containers: []*runtimeapi.Container{listedContainer}})}, stop, "default/web/cache"},
		"containers before their pod": {[]made{list("ListContainers", &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{listedContainer}}), run}, stop, "default/web/cache"},
		"status of a sandbox":         {[]made{list("PodSandboxStatus", &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{Id: sandboxID, Metadata: meta}})}, stopSandbox, "default/web"},
		"event": {[]made{list("GetContainerEvents", &runtimeapi.ContainerEventResponse{
			PodSandboxStatus: &runtimeapi.PodSandboxStatus{Id: sandboxID, Metadata: meta}, ContainersStatuses: []*runtimeapi.ContainerStatus{{Id: containerID, Metadata: container}},
		})}, stop, "default/web/cache"},
		"exec":          {[]made{create}, made{method: runtimeService + "ExecSync", request: &runtimeapi.ExecSyncRequest{ContainerId: containerID}}, "default/web/cache"},
		"filtered list": {[]made{create}, made{method: runtimeService + "ListContainers", request: &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{PodSandboxId: sandboxID}}}, "default/web"},
		"whole list":    {[]made{create}, made{method: runtimeService + "ListContainers", request: &runtimeapi.ListContainersRequest{}}, ""},
		"image":         {nil, made{method: imageService + "PullImage", request: &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "busybox:1"}}}, "busybox:1"},
		"runtime":       {nil, made{method: runtimeService + "Version", request: &runtimeapi.VersionRequest{}}, ""},
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
	e := add(t, tracer, made{method: runtimeService + "StartContainer", request: &runtimeapi.StartContainerRequest{ContainerId: containerID}})
	if got := e.Target.String(); got != "kube/dns/dns" {
		t.Error(got)
	}
}
