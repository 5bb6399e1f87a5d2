package pod_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

func TestNilObjects(t *testing.T) {
	var none *pod.Objects
	if none.ConfigMap("default", "a") != nil || none.Secret("default", "a") != nil || none.Claim("default", "a") != nil {
		t.Error("nil has objects")
	}
}

func TestFirstObjectOfNameWins(t *testing.T) {
	of := func(value, name string) *pod.Objects {
		c := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"k": value}}
		return &pod.Objects{ConfigMaps: map[types.NamespacedName]*v1.ConfigMap{{Namespace: "default", Name: name}: c}}
	}
	merged := pod.Merge(of("first", "a"), nil, of("second", "a"), of("third", "b"))
	for name, want := range map[string]string{"a": "first", "b": "third"} {
		if got := merged.ConfigMap("default", name); got == nil || got.Data["k"] != want {
			t.Errorf("ConfigMap %q: got %v, want %q", name, got, want)
		}
	}
	if got := merged.ConfigMap("other", "a"); got != nil {
		t.Errorf("ConfigMap of another namespace: got %v, want none", got)
	}
}
