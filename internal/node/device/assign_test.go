package device

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func wanting(name, kind, count string) v1.Container {
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Limits: v1.ResourceList{
		v1.ResourceName(kind): resource.MustParse(count), v1.ResourceCPU: resource.MustParse("1"), "hugepages-2Mi": resource.MustParse("2Mi"),
	}}}
}

var gpus = []string{"acme.com/gpu=0", "acme.com/gpu=1", "acme.com/gpu=all", "acme.com/nic=a"}

func TestAssignFreeDevices(t *testing.T) {
	p := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{wanting("a", "acme.com/gpu", "1"), wanting("b", "acme.com/nic", "1")}}}
	a, err := Assign(Requests(p), gpus, map[string]bool{"acme.com/gpu=0": true})
	want := Assignment{"a": {"acme.com/gpu=1"}, "b": {"acme.com/nic=a"}}
	if err != nil || !reflect.DeepEqual(a, want) {
		t.Errorf("%v, %v", a, err)
	}
	if got := Parse(a.String()); !reflect.DeepEqual(got, want) {
		t.Errorf("parsed %v of %s", got, a)
	}
	if got := a.Devices(); !slices.Equal(got, []string{"acme.com/gpu=1", "acme.com/nic=a"}) {
		t.Errorf("devices %v", got)
	}
}

func TestAssignTooFewDevicesHasTheKubeletsText(t *testing.T) {
	for kind, want := range map[string]string{
		"acme.com/gpu":  "requested number of devices unavailable for acme.com/gpu. Requested: 3, Available: 2",
		"acme.com/fpga": "requested number of devices unavailable for acme.com/fpga. Requested: 3, Available: 0",
	} {
		p := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{wanting("a", kind, "3")}}}
		_, err := Assign(Requests(p), gpus, nil)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// What can be assigned beside other pods can be assigned without them.
func TestAssignIsMonotonic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var devices []string
		var requests []Request
		inUse, fewer := map[string]bool{}, map[string]bool{}
		for _, kind := range []string{"acme.com/gpu", "acme.com/nic"} {
			for i := range random.IntN(5) {
				d := fmt.Sprintf("%s=%d", kind, i)
				devices = append(devices, d)
				inUse[d] = random.IntN(3) == 0
				fewer[d] = inUse[d] && random.IntN(2) == 0
			}
			for range random.IntN(4) {
				requests = append(requests, Request{Container: "c", Kind: kind, Count: 1 + random.IntN(3), Passes: random.IntN(2) == 0})
			}
		}
		if _, err := Assign(requests, devices, inUse); err != nil {
			continue
		}
		for _, other := range []map[string]bool{fewer, nil} {
			if _, err := Assign(requests, devices, other); err != nil {
				t.Fatalf("%v of %v, in use %v: assigned, but with %v in use %v", requests, devices, inUse, other, err)
			}
		}
	}
}

// An init container passes its devices on, a sidecar keeps them.
func TestInitContainersPassDevicesOn(t *testing.T) {
	sidecar := wanting("s", "acme.com/gpu", "1")
	sidecar.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
	p := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{wanting("i", "acme.com/gpu", "2"), sidecar},
		Containers:     []v1.Container{wanting("c", "acme.com/gpu", "1")},
	}}
	a, err := Assign(Requests(p), gpus, nil)
	want := Assignment{"i": {"acme.com/gpu=0", "acme.com/gpu=1"}, "s": {"acme.com/gpu=0"}, "c": {"acme.com/gpu=1"}}
	if err != nil || !maps.EqualFunc(a, want, slices.Equal) {
		t.Errorf("%v, %v", a, err)
	}
	p.Spec.Containers = append(p.Spec.Containers, wanting("d", "acme.com/gpu", "1"))
	if a, err := Assign(Requests(p), gpus, nil); err == nil {
		t.Errorf("three containers share two devices: %v", a)
	}
}

func TestAnnotationDevices(t *testing.T) {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"cdi.k8s.io/net": "acme.com/nic=a,acme.com/gpu=0", "other": "x"}},
		Spec:       v1.PodSpec{InitContainers: []v1.Container{{Name: "i"}}, Containers: []v1.Container{{Name: "c"}}},
	}
	for container, want := range map[string][]string{
		"i": {"acme.com/gpu=0", "acme.com/nic=a"}, "c": {"acme.com/gpu=1", "acme.com/gpu=0", "acme.com/nic=a"}, "debugger": nil,
	} {
		got, err := Of(p, container, Assignment{"c": {"acme.com/gpu=1"}})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", container, got, err)
		}
	}
	p.Annotations["cdi.k8s.io/bad"] = "gpu0"
	_, err := Of(p, "c", nil)
	if _, invalid := Annotated(p); err == nil || invalid == nil {
		t.Error("an annotation that names no device is accepted")
	}
}

func TestReadAllDirectories(t *testing.T) {
	static, dynamic := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(static, "gpu.yaml"):  "cdiVersion: 0.6.0\nkind: acme.com/gpu\ndevices: [{name: '0', containerEdits: {env: [GPU=0]}}]\n",
		filepath.Join(dynamic, "nic.json"): `{"cdiVersion": "0.6.0", "kind": "acme.com/nic", "devices": [{"name": "a", "containerEdits": {"env": ["NIC=a"]}}]}`,
		filepath.Join(dynamic, "bad.json"): `{`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read([]string{static, dynamic, filepath.Join(static, "none")})
	if !slices.Equal(got, []string{"acme.com/gpu=0", "acme.com/nic=a"}) || err == nil {
		t.Errorf("%v, %v", got, err)
	}
}
