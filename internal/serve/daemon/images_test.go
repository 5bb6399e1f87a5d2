package daemon

import (
	"testing"
	"testing/synctest"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// The image of sandboxes is kept even if the runtime does not pin it (containerd 1.x):
// without it no pod could start.
func TestSandboxImageIsPinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sim.New(sim.Options{Info: map[string]string{"config": `{"sandboxImage": "pause:1"}`}})
		c, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: r.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer c.Close()
		for _, image := range []string{"pause:1", "other"} {
			if _, err := c.PullImage(t.Context(), image, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		images, err := newGCRuntime(c).Images(t.Context())
		if err != nil || len(images) != 2 {
			t.Fatalf("%d images: %v", len(images), err)
		}
		pinned := 0
		for _, i := range images {
			if i.Pinned {
				pinned++
			}
		}
		if pinned != 1 {
			t.Errorf("%d images are pinned, want 1", pinned)
		}
	})
}

// An image is in use as long as a container, of whatever pod, mounts it as a
// volume; its mounts are asked for once.
func TestVolumeImagesAreInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sim.New(sim.Options{Record: true})
		c, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: r.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer c.Close()
		ids := map[string]string{}
		for _, image := range []string{"app", "data", "unused"} {
			if _, err := c.PullImage(t.Context(), image, nil, nil); err != nil {
				t.Fatal(err)
			}
			status, err := c.ImageStatus(t.Context(), image)
			if err != nil {
				t.Fatal(err)
			}
			ids[image] = status.ID
		}
		sandbox := &runtimeapi.PodSandboxConfig{
			Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "u"},
			Labels:   map[string]string{pod.UIDLabel: "u", pod.NameLabel: "web", pod.NamespaceLabel: "default"},
		}
		sb, err := c.RunPodSandbox(t.Context(), sandbox, "")
		if err != nil {
			t.Fatal(err)
		}
		container, err := c.CreateContainer(t.Context(), sb, &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "c"}, Image: &runtimeapi.ImageSpec{Image: "app"},
			Labels: map[string]string{pod.UIDLabel: "u", pod.ContainerNameLabel: "c"},
			Mounts: []*runtimeapi.Mount{{ContainerPath: "/data", Readonly: true, Image: &runtimeapi.ImageSpec{Image: ids["data"]}}},
		}, sandbox)
		if err != nil {
			t.Fatal(err)
		}
		runtime := newGCRuntime(c)
		expect := func(app, data bool) {
			t.Helper()
			images, err := runtime.Images(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			used := map[string]bool{}
			for _, i := range images {
				used[i.ID] = i.Used
			}
			if used[ids["app"]] != app || used[ids["data"]] != data || used[ids["unused"]] {
				t.Errorf("used: %v, want app %v, data %v", used, app, data)
			}
		}
		for range 3 {
			expect(true, true)
		}
		if n := len(r.Calls("ContainerStatus")); n != 1 {
			t.Errorf("%d statuses were asked for, want 1", n)
		}
		if err := c.RemoveContainer(t.Context(), container); err != nil {
			t.Fatal(err)
		}
		expect(false, false)
	})
}
