package images

import (
	"slices"
	"testing"
	"testing/synctest"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// A container that is in no pod uses its image, too: one list shows it and the pods.
func TestReadListsContainersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := sim.New(sim.Options{Record: true})
		defer rt.Close()
		client, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: rt.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		sandbox := &runtimeapi.PodSandboxConfig{
			Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "u"}, Labels: map[string]string{pod.UIDLabel: "u"},
		}
		id, err := client.RunPodSandbox(t.Context(), sandbox, "")
		if err != nil {
			t.Fatal(err)
		}
		for image, labels := range map[string]map[string]string{"r.io/app:1": {pod.UIDLabel: "u"}, "r.io/stray:1": nil} {
			config := &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: image}, Image: &runtimeapi.ImageSpec{Image: image}, Labels: labels}
			if _, err := client.CreateContainer(t.Context(), id, config, sandbox); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the second one finds the lists unchanged
			rt.ClearCalls()
			all, _, err := new(Reader).Read(t.Context(), client, client.ListPods)
			if err != nil {
				t.Fatal(err)
			}
			if unused := slices.DeleteFunc(all, func(i *Image) bool { return !i.Unused() }); len(unused) > 0 {
				t.Errorf("unused: %q", names(unused))
			}
			if lists := rt.Calls("ListPodSandbox", "ListContainers"); len(lists) != 2 {
				t.Errorf("%d lists, want 2", len(lists))
			}
		}
	})
}
