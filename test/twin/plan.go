package twin

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Plan is what both nodes are given.
type Plan struct {
	Pods []Planned
	// Restart is when kubelet and podctl are killed and started again, 0 for never.
	Restart time.Duration
}

// Planned is a pod with what becomes of its manifest.
type Planned struct {
	Name string
	Acts []Act // in the order of time
	// Rules are faults of the pod's calls, as podctl proxy reads them.
	Rules []string
}

// Act puts a manifest in place of the one before.
type Act struct {
	At       time.Duration // since the beginning
	Manifest string        // "" removes it
}

// NewPlan draws n pods whose manifests come within the first half of span. The pod of a
// number is the same in every plan of the seed.
func NewPlan(seed uint64, n int, span time.Duration) Plan {
	plan := Plan{Restart: span * 6 / 10}
	for i := range n {
		d := &draw{rand.New(rand.NewPCG(seed, uint64(i)))}
		plan.Pods = append(plan.Pods, d.planned(fmt.Sprintf("p%d-%d", seed, i), span))
	}
	return plan
}

// Only keeps the pods of these names.
func (p Plan) Only(names ...string) Plan {
	kept := Plan{Restart: p.Restart}
	for _, pod := range p.Pods {
		for _, name := range names {
			if pod.Name == name {
				kept.Pods = append(kept.Pods, pod)
			}
		}
	}
	return kept
}

// draw makes random choices.
type draw struct{ *rand.Rand }

// often is true in p of 100 cases.
func (d *draw) often(p int) bool { return d.IntN(100) < p }

func (d *draw) between(from, to int) int { return from + d.IntN(to-from+1) }

func oneOf[T any](d *draw, values ...T) T { return values[d.IntN(len(values))] }

func (d *draw) planned(name string, span time.Duration) Planned {
	at := time.Duration(d.Float64() * float64(span) / 2).Round(100 * time.Millisecond)
	pod := d.pod(name)
	p := Planned{Name: name, Acts: []Act{{at, manifest(pod)}}}
	later := func() time.Duration {
		last := p.Acts[len(p.Acts)-1].At
		return last + time.Duration(d.between(5, max(6, int((span-last).Seconds())))*int(time.Second)) + 300*time.Millisecond
	}
	switch n := d.IntN(100); {
	case n < 40: // it is removed
		p.Acts = append(p.Acts, Act{At: later()})
	case n < 55: // it changes
		changed := pod.DeepCopy()
		changed.Spec.Containers[0].Env = append(changed.Spec.Containers[0].Env, v1.EnvVar{Name: "VERSION", Value: "2"})
		p.Acts = append(p.Acts, Act{later(), manifest(changed)})
	case n < 65: // it is removed, and comes back
		p.Acts = append(p.Acts, Act{At: later()})
		// A kubelet counts the attempts of the same pod on, on which some lives depend.
		if back := manifest(pod); strings.Contains(back, "$ATTEMPT") {
			p.Acts = append(p.Acts, Act{later(), strings.Replace(back, "value: fast", "value: faster", 1)})
		} else {
			p.Acts = append(p.Acts, Act{later(), back})
		}
	}
	if d.often(15) {
		p.Rules = append(p.Rules, fmt.Sprintf("method=%s pod=%s %s", oneOf(d, "RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer"), name,
			oneOf(d, "nth=1 error=Unknown", "nth=1-2 error=Internal", "nth=2 error=Unavailable", "delay=3s", "nth=1 delay=8s")))
	}
	return p
}

func manifest(pod *v1.Pod) string {
	text, err := yaml.Marshal(pod)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// pod draws a pod with its containers' lives, which are scripts of podctl sim.
func (d *draw) pod(name string) *v1.Pod {
	pod := &v1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", Labels: map[string]string{"app": name, "tier": oneOf(d, "web", "job")}, Annotations: map[string]string{"note": "a: b"},
		},
	}
	spec := &pod.Spec
	spec.RestartPolicy = oneOf(d, v1.RestartPolicyAlways, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	spec.TerminationGracePeriodSeconds = new(int64(d.between(0, 12)))
	if d.often(10) {
		spec.ActiveDeadlineSeconds = new(int64(d.between(10, 60)))
	}
	d.volumes(spec)
	d.network(pod)
	d.podSecurity(spec)
	for i := range oneOf(d, 0, 0, 0, 1, 2) {
		c := d.container(pod, fmt.Sprintf("init-%d", i))
		if d.often(35) {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
			d.life(pod, &c, true)
			d.probes(&c)
		} else {
			pod.Annotations["sim.podctl.io/script."+c.Name] = oneOf(d, "echo made; exit 0", "sleep 2; exit 0", `[ $ATTEMPT -ge 1 ] || exit 3; exit 0`)
		}
		spec.InitContainers = append(spec.InitContainers, c)
	}
	for i := range oneOf(d, 1, 1, 1, 2, 3) {
		c := d.container(pod, fmt.Sprintf("c%d", i))
		d.life(pod, &c, false)
		d.probes(&c)
		d.hooks(&c)
		if d.often(8) {
			d.restartRules(&c)
		}
		spec.Containers = append(spec.Containers, c)
	}
	return pod
}
