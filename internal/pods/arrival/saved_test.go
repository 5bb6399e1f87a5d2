package arrival

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The same pods are admitted at a node that was stored, also where the difference is only known
// and unknown.
func TestSavedNodeDecidesAsTheNode(t *testing.T) {
	for name, taints := range map[string][]v1.Taint{"no taints": {}, "unknown taints": nil, "a taint": {{Key: "a", Effect: v1.TaintEffectNoSchedule}}} {
		n := &Node{
			Object:      &v1.Node{Spec: v1.NodeSpec{Taints: taints}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("2")}}},
			Allocatable: "kubelet x", Sources: []Source{{Name: "agent", Pods: 1}}, unchecked: []string{"something"},
			Pods: []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u"}}},
		}
		text, err := json.Marshal(Save(n, nil))
		if err != nil {
			t.Fatal(err)
		}
		var saved Saved
		if err := json.Unmarshal(text, &saved); err != nil {
			t.Fatal(err)
		}
		again, err := saved.Node(nil)
		if err != nil {
			t.Fatal(err)
		}
		arriving := []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "dns", Namespace: "kube-system"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "dns"}}}}}
		if diff := cmp.Diff(n.Admit(arriving), again.Admit(arriving)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if again.Allocatable != n.Allocatable || !cmp.Equal(again.Sources, n.Sources) {
			t.Errorf("%s: %+v", name, again)
		}
		more, err := saved.Node(v1.ResourceList{"cpu": resource.MustParse("8")})
		if cpu := more.Object.Status.Allocatable.Cpu(); err != nil || cpu.Value() != 8 || again.Object.Status.Allocatable.Cpu().Value() != 1 {
			t.Errorf("%s: %v, %v", name, cpu, err)
		}
	}
	if _, err := Save(nil, errors.New("a kubelet that is not seen")).Node(nil); err == nil || err.Error() != "a kubelet that is not seen" {
		t.Error(err)
	}
}
