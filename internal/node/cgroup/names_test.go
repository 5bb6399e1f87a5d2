package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func quantities(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// container is one with these requests and limits.
func container(requests, limits v1.ResourceList) v1.Container {
	return v1.Container{Name: "c", Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func aPod(uid string, containers ...v1.Container) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Spec: v1.PodSpec{Containers: containers}}
}

func bestEffortPod(uid string) *v1.Pod { return aPod(uid, container(nil, nil)) }

func burstablePod(uid string) *v1.Pod { return aPod(uid, container(quantities("cpu", "250m"), nil)) }

func guaranteedPod(uid string) *v1.Pod {
	l := quantities("cpu", "500m", "memory", "64Mi")
	return aPod(uid, container(l, l))
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestParentPerDriver(t *testing.T) {
	tests := []struct {
		pod  *v1.Pod
		d    Driver
		want string
	}{
		{guaranteedPod("a-b"), Cgroupfs, "/kubepods/poda-b"},
		{burstablePod("a-b"), Cgroupfs, "/kubepods/burstable/poda-b"},
		{bestEffortPod("a-b"), Cgroupfs, "/kubepods/besteffort/poda-b"},
		{guaranteedPod("a-b"), Systemd, "/kubepods.slice/kubepods-poda_b.slice"},
		{burstablePod("a-b"), Systemd, "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b.slice"},
		{bestEffortPod("a-b"), Systemd, "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poda_b.slice"},
	}
	for _, tt := range tests {
		diff(t, "parent", tt.want, Parent(DefaultRoot, tt.d, tt.pod))
	}
	diff(t, "root with a dash", "/my_pods.slice/my_pods-podx.slice", Parent("my-pods", Systemd, guaranteedPod("x")))
}

func TestPodUIDFromDirectory(t *testing.T) {
	tests := []struct {
		dir string
		d   Driver
		uid types.UID
		ok  bool
	}{
		{"poda-b", Cgroupfs, "a-b", true},
		{"podpod1", Cgroupfs, "pod1", true},
		{"burstable", Cgroupfs, "", false},
		{"pod", Cgroupfs, "", false},
		{"kubepods-burstable-poda_b.slice", Systemd, "a-b", true},
		{"kubepods-poda_b.slice", Systemd, "a-b", true},
		{"kubepods-burstable.slice", Systemd, "", false},
		{"cri-containerd-poda.scope", Systemd, "", false},
		{"poda", Systemd, "", false},
	}
	for _, tt := range tests {
		uid, ok := podUID(tt.dir, tt.d)
		if ok != tt.ok || (ok && uid != tt.uid) {
			t.Errorf("%s, %s: %q %v, want %q %v", tt.dir, tt.d, uid, ok, tt.uid, tt.ok)
		}
	}
}

func TestDriverOfRefusal(t *testing.T) {
	for text, want := range map[string]Driver{
		`OCI runtime create failed: runc create failed: expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/podctl-1/pod2/3" instead: unknown`: Systemd,
		"cri-o configured with systemd cgroup manager, but did not receive slice as parent: /podctl-1/pod2":                                                                    Systemd,
		"cri-o configured with cgroupfs cgroup manager, but received slice as parent: /a.slice":                                                                                Cgroupfs,
		"systemd not running on this host, cannot use systemd cgroups manager":                                                                                                 "",
	} {
		if got, ok := DriverOfRefusal(text); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", text, got, ok)
		}
	}
}

func TestRejectPathsOutsideTree(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "a/b", "../x", "a_b", "a b", "a\x00", "é", "a.slice", "a.scope"} {
		if checkElement("uid", bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{"7f5cd7a2-0e5c", "0123abcd", "a.b"} {
		if err := checkElement("uid", good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, o := range []Options{{Driver: "other"}, {Root: "a/b"}, {Root: ".."}} {
		if err := o.complete(); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	var o Options
	if err := o.complete(); err != nil || o.Root != "kubepods" || o.Driver != Cgroupfs {
		t.Errorf("zero options became %+v, %v", o, err)
	}
}
