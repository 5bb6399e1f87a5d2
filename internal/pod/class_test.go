package pod

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func list(cpu, memory string) v1.ResourceList {
	l := v1.ResourceList{}
	if cpu != "" {
		l[v1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		l[v1.ResourceMemory] = resource.MustParse(memory)
	}
	return l
}

func container(requests, limits v1.ResourceList) v1.Container {
	return v1.Container{Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func TestQOS(t *testing.T) {
	full := container(list("1", "1Gi"), list("1", "1Gi"))
	for _, c := range []struct {
		name string
		spec v1.PodSpec
		want v1.PodQOSClass
	}{
		{"nothing asked for", v1.PodSpec{Containers: []v1.Container{{}}}, v1.PodQOSBestEffort},
		{"zero is nothing", v1.PodSpec{Containers: []v1.Container{container(list("0", ""), list("0", "0"))}}, v1.PodQOSBestEffort},
		{"all limits equal requests", v1.PodSpec{Containers: []v1.Container{full, full}}, v1.PodQOSGuaranteed},
		{"requests only", v1.PodSpec{Containers: []v1.Container{container(list("1", ""), nil)}}, v1.PodQOSBurstable},
		{"request below limit", v1.PodSpec{Containers: []v1.Container{container(list("1", "1Gi"), list("2", "1Gi"))}}, v1.PodQOSBurstable},
		{"one container without limits", v1.PodSpec{Containers: []v1.Container{full, {}}}, v1.PodQOSBurstable},
		{"an init container without limits", v1.PodSpec{InitContainers: []v1.Container{{}}, Containers: []v1.Container{full}}, v1.PodQOSBurstable},
		{"memory limit alone", v1.PodSpec{Containers: []v1.Container{container(list("", "1Gi"), list("", "1Gi"))}}, v1.PodQOSBurstable},
		{"pod level decides", v1.PodSpec{Resources: &v1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("1", "1Gi")}, Containers: []v1.Container{{}}}, v1.PodQOSGuaranteed},
		{"a pod level that is empty does not count", v1.PodSpec{Resources: &v1.ResourceRequirements{}, Containers: []v1.Container{full}}, v1.PodQOSGuaranteed},
		{"pod level without cpu limit", v1.PodSpec{Resources: &v1.ResourceRequirements{Limits: list("", "1Gi"), Requests: list("", "1Gi")}, Containers: []v1.Container{full}}, v1.PodQOSBurstable},
	} {
		if got := QOS(&v1.Pod{Spec: c.spec}); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	known := &v1.Pod{Status: v1.PodStatus{QOSClass: v1.PodQOSGuaranteed}}
	if got := QOS(known); got != v1.PodQOSGuaranteed {
		t.Errorf("a class in the status: got %s", got)
	}
}

func TestCritical(t *testing.T) {
	priority := func(p int32) *v1.Pod { return &v1.Pod{Spec: v1.PodSpec{Priority: &p}} }
	annotated := func(key, value string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: value}}}
	}
	for _, c := range []struct {
		name string
		pod  *v1.Pod
		want bool
	}{
		{"plain", &v1.Pod{}, false},
		{"priority just below", priority(CriticalPriority - 1), false},
		{"priority", priority(CriticalPriority), true},
		{"static", annotated(ConfigSourceAnnotation, "file"), true},
		{"from the API server", annotated(ConfigSourceAnnotation, "api"), false},
		{"mirror", annotated(ConfigMirrorAnnotation, ""), true},
	} {
		if got := IsCritical(c.pod); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestStateString(t *testing.T) {
	for state, want := range map[State]string{Unknown: "unknown", Created: "created", Running: "running", Exited: "exited", 9: "State(9)"} {
		if state.String() != want {
			t.Errorf("%d: %q, want %q", state, state, want)
		}
	}
}
