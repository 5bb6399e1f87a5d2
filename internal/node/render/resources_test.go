package render

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestOOMScoreAdj(t *testing.T) {
	memory := func(amount string) v1.ResourceRequirements {
		return v1.ResourceRequirements{Requests: quantities("memory", amount)}
	}
	always := new(v1.ContainerRestartPolicyAlways)
	tests := []struct {
		name string
		edit func(*v1.Pod)
		want int64
	}{
		{"best effort", func(*v1.Pod) {}, 1000},
		{"guaranteed", func(p *v1.Pod) {
			p.Spec.Containers[0].Resources = v1.ResourceRequirements{
				Limits: quantities("cpu", "1", "memory", "1Mi"), Requests: quantities("cpu", "1", "memory", "1Mi")}
		}, -997},
		{"a tenth of the node", func(p *v1.Pod) { p.Spec.Containers[0].Resources = memory("100Mi") }, 900},
		{"nearly nothing stays below best effort", func(p *v1.Pod) { p.Spec.Containers[0].Resources = memory("1") }, 999},
		{"all of the node stays above guaranteed", func(p *v1.Pod) { p.Spec.Containers[0].Resources = memory("2000Mi") }, 3},
		{"node-critical", func(p *v1.Pod) {
			p.Spec.PriorityClassName, p.Spec.Priority = "system-node-critical", new(int32(2000001000))
		}, -997},
		{"the class's name alone is not critical", func(p *v1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }, 1000},
		{"cluster-critical is as any other", func(p *v1.Pod) {
			p.Spec.PriorityClassName, p.Spec.Priority = "system-cluster-critical", new(int32(2000000000))
		}, 1000},
		{"a sidecar is as its smallest container", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Name: "c", RestartPolicy: always, Resources: memory("10Mi")}}
			p.Spec.Containers = []v1.Container{{Name: "x", Resources: memory("400Mi")}, {Name: "y", Resources: memory("200Mi")}}
		}, 800},
		{"a sidecar that asks for more keeps its own", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Name: "c", RestartPolicy: always, Resources: memory("300Mi")}}
			p.Spec.Containers = []v1.Container{{Name: "x", Resources: memory("200Mi")}}
		}, 700},
		{"the pod's spare request is shared", func(p *v1.Pod) {
			p.Spec.Resources = &v1.ResourceRequirements{Requests: quantities("memory", "300Mi")}
			p.Spec.Containers = []v1.Container{{Name: "c", Resources: memory("100Mi")}, {Name: "x"}}
		}, 800},
		{"a pod that requests less than its containers takes nothing from them", func(p *v1.Pod) {
			p.Spec.Resources = &v1.ResourceRequirements{Requests: quantities("memory", "100Mi")}
			p.Spec.Containers = []v1.Container{{Name: "c", Resources: memory("200Mi")}}
		}, 800},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := aPod(tt.edit)
			c := &p.Spec.Containers[0]
			if len(p.Spec.InitContainers) > 0 {
				c = &p.Spec.InitContainers[0]
			}
			got, err := oomScoreAdj(p, c, 1000<<20)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "oom_score_adj", tt.want, got)
		})
	}
	p := aPod(func(p *v1.Pod) { p.Spec.Containers[0].Resources = memory("1Mi") })
	if _, err := oomScoreAdj(p, &p.Spec.Containers[0], 0); err == nil {
		t.Error("a burstable pod on a node of unknown memory is no error")
	}
}

func TestLimitsOnCgroupV2(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Spec.Overhead = quantities("cpu", "100m", "memory", "10Mi")
		p.Spec.Containers[0].Resources.Limits = quantities("memory", "64Mi")
	})
	n := aNode()
	n.CgroupV2 = true
	r, err := ContainerResources(p, &p.Spec.Containers[0], n)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "container", map[string]string{"memory.oom.group": "1", "memory.swap.max": "0", "memory.min": "0", "memory.low": "0"}, r.Unified)
	diff(t, "memory and swap", [2]int64{64 << 20, 0}, [2]int64{r.MemoryLimitInBytes, r.MemorySwapLimitInBytes})

	overhead := OverheadResources(p, n)
	diff(t, "overhead", [4]int64{10 << 20, 102, 10000, 100000}, [4]int64{overhead.MemoryLimitInBytes, overhead.CpuShares, overhead.CpuQuota, overhead.CpuPeriod})
	diff(t, "overhead, unified", map[string]string{"memory.oom.group": "1"}, overhead.Unified)
	diff(t, "sandbox leaves the overhead out", int64(64<<20), sandboxResources(p, n).MemoryLimitInBytes)

	n.SwapController = false
	r, _ = ContainerResources(p, &p.Spec.Containers[0], n)
	diff(t, "no swap controller", map[string]string{"memory.oom.group": "1", "memory.min": "0", "memory.low": "0"}, r.Unified)
}

func TestSwapWithoutController(t *testing.T) {
	p := aPod(func(p *v1.Pod) { p.Spec.Containers[0].Resources.Limits = quantities("memory", "64Mi") })
	n := aNode()
	n.SwapController = false
	r, err := ContainerResources(p, &p.Spec.Containers[0], n)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "swap", int64(0), r.MemorySwapLimitInBytes)
}

func TestHugepagesOfTheContainerWinOverThePods(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Spec.Resources = &v1.ResourceRequirements{Limits: quantities("hugepages-2Mi", "8Mi", "hugepages-1Gi", "2Gi")}
		p.Spec.Containers[0].Resources.Limits = quantities("hugepages-2Mi", "4Mi", "hugepages-64Ki", "1Mi")
	})
	got := map[string]uint64{}
	for _, l := range hugepageLimits(p, &p.Spec.Containers[0], aNode()) {
		got[l.PageSize] = l.Limit
	}
	diff(t, "limits", map[string]uint64{"2MB": 4 << 20, "1GB": 2 << 30}, got)
}
