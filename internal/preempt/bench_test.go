package preempt

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// BenchmarkPlan plans on a node of 10,000 candidates: with the few sizes that
// pods come in, and with no two alike and many victims. Beside it, in the same
// run, plainKubelet chooses the same victims once; x-plain is how many times as
// long it takes, though it gives no reasons.
func BenchmarkPlan(b *testing.B) {
	pods := newDice(1).pods(10_000)
	need := []Amount{{v1.ResourceCPU, 200_000}, {v1.ResourceMemory, 100 << 30}}
	for _, c := range []struct {
		name string
		pods []*v1.Pod
	}{
		{"alike", pods},
		{"distinct", distinct(pods)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var victims []*v1.Pod
			for b.Loop() {
				victims = Plan(critical(), c.pods, need).Victims
			}
			perPlan := b.Elapsed() / time.Duration(b.N)
			b.StopTimer()
			start := time.Now()
			plain, _ := plainKubelet(critical(), c.pods, need)
			took := time.Since(start)
			if !slices.Equal(victims, plain) {
				b.Fatalf("%d victims, plainly %d others", len(victims), len(plain))
			}
			b.ReportMetric(float64(took)/float64(perPlan), "x-plain")
			b.ReportMetric(float64(len(victims)), "victims")
		})
	}
}

// distinct returns the pods with each container's memory made different.
func distinct(pods []*v1.Pod) []*v1.Pod {
	out := make([]*v1.Pod, len(pods))
	for i, p := range pods {
		out[i] = p.DeepCopy()
		for _, c := range out[i].Spec.Containers {
			if q, ok := c.Resources.Requests[v1.ResourceMemory]; ok {
				q.Add(*resource.NewQuantity(int64(i), resource.BinarySI))
				c.Resources.Requests[v1.ResourceMemory] = q
			}
		}
	}
	return out
}
