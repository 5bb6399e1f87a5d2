package preempt

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

const gpu v1.ResourceName = "example.com/gpu"

// dice draws nodes. Few distinct sizes make ties common.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, seed))} }

func (d dice) in(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

func (d dice) requests() v1.ResourceList {
	l := v1.ResourceList{}
	if d.in(70) {
		l[v1.ResourceCPU] = *resource.NewMilliQuantity(int64(100*d.IntN(9)), resource.DecimalSI)
	}
	if d.in(70) {
		l[v1.ResourceMemory] = *resource.NewQuantity(int64(50*d.IntN(9))<<20, resource.BinarySI)
	}
	if d.in(10) {
		l[v1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(d.IntN(3))<<30, resource.BinarySI)
	}
	if d.in(10) {
		l[gpu] = *resource.NewQuantity(int64(d.IntN(3)), resource.DecimalSI)
	}
	return l
}

func (d dice) container() v1.Container {
	r := d.requests()
	c := v1.Container{Resources: v1.ResourceRequirements{Requests: r}}
	if d.in(40) {
		c.Resources.Limits = r.DeepCopy()
	}
	return c
}

func (d dice) pod(i int) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("p%03d", d.IntN(1000)*100+i), Namespace: pick(d, "default", "kube-system"), UID: types.UID(fmt.Sprint("uid-", i)),
	}}
	switch size := d.container(); {
	case d.in(15):
		p.Spec.Containers = []v1.Container{{}} // best-effort
	case d.in(30):
		size.Resources.Limits = size.Resources.Requests // guaranteed, if it has both
		p.Spec.Containers = []v1.Container{size}
	default:
		p.Spec.Containers = []v1.Container{size, d.container()}[:1+d.IntN(2)]
	}
	if d.in(15) {
		c := d.container()
		if d.in(50) {
			always := v1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = []v1.Container{c}
	}
	if d.in(10) {
		p.Spec.Overhead = d.requests()
	}
	if d.in(5) {
		p.Spec.Resources = &v1.ResourceRequirements{Requests: d.requests()}
	}
	if d.in(85) {
		priority := pick[int32](d, 0, 0, 10, 100, 1000)
		if d.in(5) {
			priority = pick[int32](d, pod.CriticalPriority, pod.CriticalPriority+1000)
		}
		p.Spec.Priority = &priority
	}
	if d.in(3) {
		p.Annotations = map[string]string{pod.ConfigSourceAnnotation: "file"}
	}
	return p
}

func (d dice) pods(n int) []*v1.Pod {
	pods := make([]*v1.Pod, n)
	for i := range pods {
		pods[i] = d.pod(i)
	}
	return pods
}

// need is often about as much as some of the pods free.
func (d dice) need() []Amount {
	all := []Amount{
		{v1.ResourceCPU, int64(100 * (1 + d.IntN(30)))},
		{v1.ResourceMemory, int64(50*(1+d.IntN(30))) << 20},
		{v1.ResourcePods, int64(1 + d.IntN(4))},
		{gpu, int64(1 + d.IntN(3))},
		{v1.ResourceEphemeralStorage, int64(1+d.IntN(3)) << 30},
	}
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+d.IntN(3)]
}

// critical is a pod that may preempt.
func critical() *v1.Pod {
	priority := pod.CriticalPriority + 500
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "dns", Namespace: "kube", UID: "dns"},
		Spec:       v1.PodSpec{Priority: &priority, Containers: []v1.Container{{}}},
	}
}

func names(pods []*v1.Pod) []string {
	out := make([]string, len(pods))
	for i, p := range pods {
		out[i] = refTo(p).String()
	}
	return out
}
