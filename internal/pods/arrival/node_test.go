package arrival

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/owners/kubelet"
)

// What the kubelet of this machine reserves is not allocatable, also where manifests name
// the pods on the node. Where no kubelet is seen, its reservation is not known.
func TestReservationCountsWhereManifestsNameThePods(t *testing.T) {
	dir := t.TempDir()
	pods := filepath.Join(dir, "pods.yaml")
	manifest := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n"
	if err := os.WriteFile(pods, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	one := resource.MustParse("1")
	all := v1.ResourceList{v1.ResourceCPU: one, v1.ResourceMemory: one, v1.ResourcePods: one}
	for _, c := range []struct {
		name                  string
		process               *kubelet.Process
		err                   error
		allocatable, reserved v1.ResourceList
		source                string
		unchecked             []string
	}{
		{"a kubelet", &kubelet.Process{PID: 7}, nil, nil, nil, "kubelet process 7", nil},
		{"no kubelet", nil, nil, nil, nil, "this machine", []string{unknownReservation}},
		{"one that is not seen", nil, errors.New("no"), nil, nil, "this machine", []string{unknownReservation}},
		{"no kubelet, and some amounts", nil, nil, v1.ResourceList{v1.ResourceCPU: one}, nil, "this machine", []string{unknownReservation}},
		{"no kubelet, and all amounts", nil, nil, all, nil, "this machine", nil},
		{"no kubelet, and what is reserved", nil, nil, nil, v1.ResourceList{v1.ResourceCPU: one}, "this machine", nil},
	} {
		n, err := Read(t.Context(), Options{
			NodePods: []string{pods}, PodsDir: dir, Logs: dir, Allocatable: c.allocatable, Reserved: c.reserved,
			Kubelet: func(context.Context) (*kubelet.Process, error) { return c.process, c.err },
		})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if n.Allocatable != c.source || !slices.Equal(n.unchecked, c.unchecked) {
			t.Errorf("%s: allocatable of %s, not checked %q", c.name, n.Allocatable, n.unchecked)
		}
		tolerant := n.Pods[0].DeepCopy()
		tolerant.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
		if got := n.Admit([]*v1.Pod{tolerant})[0].Unchecked; !slices.Equal(got, c.unchecked) {
			t.Errorf("%s: the answer says %q", c.name, got)
		}
	}
}
