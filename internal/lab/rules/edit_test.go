package rules

import (
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/trace"
)

func list() (*runtimeapi.ListContainersResponse, *trace.Names) {
	names := &trace.Names{}
	names.Learn(nil, &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{
		{Id: "s1", Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: "web"}},
		{Id: "s2", Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: "db"}},
	}})
	all := &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{
		{Id: "c1-0000000", PodSandboxId: "s1", Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		{Id: "c2-0000000", PodSandboxId: "s2", Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, State: runtimeapi.ContainerState_CONTAINER_EXITED},
	}}
	names.Learn(nil, all)
	return all, names
}

func TestEditSelectsEntries(t *testing.T) {
	for text, want := range map[string]string{
		"omit pod=web":                              "c2-0000000/2",
		"omit where=state=CONTAINER_RUNNING":        "c2-0000000/2",
		"copies=2 pod=default/db":                   "c1-0000000/1 c2-0000000/2 c2-0000001/2 c2-0000002/2",
		"fill=5":                                    "c1-0000000/1 c2-0000000/2 c1-0000001/1 c2-0000002/2 c1-0000003/1",
		"set=state=CONTAINER_UNKNOWN pod=web":       "c1-0000000/3 c2-0000000/2",
		"unset=state":                               "c1-0000000/0 c2-0000000/0",
		"set=metadata.attempt=4 unset=podSandboxId": "c1-0000000/1 c2-0000000/2",
	} {
		all, names := list()
		r := parse(t, "method=ListContainers "+text)
		if err := r.Edit(all, names); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range all.GetContainers() {
			got = append(got, c.GetId()+"/"+string(rune('0'+int(c.GetState()))))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

// Rules that multiply what others have multiplied end in an error, not in the memory of the node.
func TestCopiesAreBounded(t *testing.T) {
	for _, text := range []string{"copies=1000", "fill=100000 set=metadata.name=" + strings.Repeat("x", 60<<10)} {
		all, names := list()
		r, err := parse(t, "method=ListContainers "+text), error(nil)
		for range 4 {
			if err == nil {
				err = r.Edit(all, names)
			}
		}
		if err == nil || !strings.Contains(err.Error(), "the copies have more than 64 MiB") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

func TestEditOfAnAnswerWithoutTheFieldIsAnError(t *testing.T) {
	r := parse(t, "method=*Status set=status.exitCode=3")
	if err := r.Edit(&runtimeapi.PodSandboxStatusResponse{}, &trace.Names{}); err == nil || !strings.Contains(err.Error(), "--inject: the answer has no such field") {
		t.Error(err)
	}
}
