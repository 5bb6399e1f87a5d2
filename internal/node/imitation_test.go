package node

import (
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod"
)

// A kubelet gives a sandbox the annotations of its pod. A user of the cluster who sets
// those of podctl must not get a pod stopped, or, by a manifest of their own, one that
// the API server would not have admitted.
func TestKubeletPodWithPodctlAnnotationsIsLeftAlone(t *testing.T) {
	for name, partly := range map[string]bool{"all sources are known": false, "a source cannot be read": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				other := desire(t, podYAML("other", "sleep 3600", "hostPID: true", "hostNetwork: true"))[0]
				packed, err := manifest.Compress(other.Document)
				if err != nil {
					t.Fatal(err)
				}
				client := w.client()
				defer client.Close()
				_, err = client.RunPodSandbox(t.Context(), &runtimeapi.PodSandboxConfig{
					Metadata: &runtimeapi.PodSandboxMetadata{Name: "other", Namespace: "default", Uid: string(other.UID())},
					Labels:   map[string]string{pod.UIDLabel: string(other.UID()), pod.NameLabel: "other", pod.NamespaceLabel: "default"},
					Annotations: map[string]string{
						pod.ConfigSourceAnnotation: "api", // of the kubelet
						pod.OwnerAnnotation:        "agent", pod.ManifestAnnotation: packed, pod.InstanceAnnotation: "agent-0",
					},
				}, "")
				if err != nil {
					t.Fatal(err)
				}
				w.sim.ClearCalls()
				w.partly = partly
				p := w.podctl("agent", podYAML("web", "sleep 3600"))
				p.until("web", "running", running)
				time.Sleep(time.Minute)
				if got := w.calls("RunPodSandbox", "StartContainer", "StopPodSandbox", "RemovePodSandbox"); len(got) != 2 {
					t.Errorf("calls beside those for web: %v", got)
				}
				if infos := p.Pods(); len(infos) != 1 {
					t.Errorf("manages %d pods", len(infos))
				}
				p.kill()
			})
		})
	}
}
