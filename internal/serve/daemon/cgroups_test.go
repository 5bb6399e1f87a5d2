package daemon

import (
	"os"
	"path/filepath"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/sim"
)

// Pods that run below the root of an earlier version, which was named by the socket alone, stay there;
// the roots of other runtimes' pods are left to them.
func TestRootOfPodsThatRunIsKept(t *testing.T) {
	rt := sim.New(sim.Options{})
	defer rt.Close()
	client, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: rt.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	id, err := client.RunPodSandbox(t.Context(), &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "u"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	const (
		own, byID, other = "podctl-0123456789abcdef", "podctl-0123456789ab", "podctl-aaaaaaaaaaaa"
		pod              = "/pod0b6d5a5e-0000-4000-8000-000000000001/"
	)
	stranger := id[:len(id)-4] + "0000"
	for name, c := range map[string]struct {
		groups []string
		want   string
	}{
		"no other root":                   {[]string{own + pod + id}, own},
		"pods below the earlier name":     {[]string{byID + "/besteffort" + pod + id}, byID},
		"the same, as slices":             {[]string{"podctl_0123456789ab.slice/podctl_0123456789ab-pod1.slice/cri-containerd-" + id + ".scope"}, byID},
		"containers of another runtime":   {[]string{other + pod + stranger}, own},
		"below both":                      {[]string{byID + pod + stranger, own + pod + id}, own},
		"below a root that a user named":  {[]string{"podctl-mine" + pod + id}, own},
		"nothing left below the old name": {[]string{byID + pod}, own},
	} {
		mounts := t.TempDir()
		for _, group := range append(c.groups, other) {
			if err := os.MkdirAll(filepath.Join(mounts, "memory", group), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		o := CgroupOptions{Runtime: "0123456789ab", Fingerprint: "0123456789abcdef"}
		if got, err := o.rootOf(t.Context(), client, mounts); got != c.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
	if got, err := (CgroupOptions{Runtime: "0123456789ab"}).rootOf(t.Context(), client, t.TempDir()); got != byID || err != nil {
		t.Errorf("a runtime without a fingerprint: %s, %v", got, err)
	}
}
