package cgroup

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestPodLimits(t *testing.T) {
	cpu, both := quantities("cpu", "500m"), quantities("cpu", "500m", "memory", "64Mi")
	always := v1.ContainerRestartPolicyAlways
	none := map[int64]int64{}
	edited := func(p *v1.Pod, edit func(*v1.Pod)) *v1.Pod {
		edit(p)
		return p
	}
	tests := []struct {
		name string
		pod  *v1.Pod
		want Limits
	}{
		{"best effort", bestEffortPod("x"), Limits{CPUShares: 2, Hugepages: none}},
		{"guaranteed", guaranteedPod("x"), Limits{CPUShares: 512, CPUQuota: 50000, CPUPeriod: 100000, Memory: 64 << 20, Hugepages: none}},
		{"guaranteed, two containers", aPod("x", container(both, both), container(both, both)),
			Limits{CPUShares: 1024, CPUQuota: 100000, CPUPeriod: 100000, Memory: 128 << 20, Hugepages: none}},
		{"burstable, no limits", burstablePod("x"), Limits{CPUShares: 256, Hugepages: none}},
		{"burstable, every container has a CPU limit", aPod("x", container(cpu, cpu), container(cpu, cpu)),
			Limits{CPUShares: 1024, CPUQuota: 100000, CPUPeriod: 100000, Hugepages: none}},
		{"burstable, one container lacks limits", aPod("x", container(both, both), container(cpu, nil)),
			Limits{CPUShares: 1024, Hugepages: none}},
		{"burstable, only memory is limited everywhere", aPod("x", container(nil, quantities("memory", "64Mi"))),
			Limits{CPUShares: 2, Memory: 64 << 20, Hugepages: none}},
		{"an init container without limits counts", edited(aPod("x", container(both, both)), func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{container(nil, nil)}
		}), Limits{CPUShares: 512, Hugepages: none}},
		{"a sidecar's limits add up", edited(aPod("x", container(both, both)), func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{container(both, both)}
			p.Spec.InitContainers[0].RestartPolicy = &always
		}), Limits{CPUShares: 1024, CPUQuota: 100000, CPUPeriod: 100000, Memory: 128 << 20, Hugepages: none}},
		{"the pod's own limits suffice", edited(bestEffortPod("x"), func(p *v1.Pod) {
			p.Spec.Resources = &v1.ResourceRequirements{Requests: quantities("cpu", "300m", "memory", "64Mi"), Limits: quantities("cpu", "600m", "memory", "128Mi")}
		}), Limits{CPUShares: 307, CPUQuota: 60000, CPUPeriod: 100000, Memory: 128 << 20, Hugepages: none}},
		{"overhead is added", edited(guaranteedPod("x"), func(p *v1.Pod) {
			p.Spec.Overhead = quantities("cpu", "100m", "memory", "16Mi")
		}), Limits{CPUShares: 614, CPUQuota: 60000, CPUPeriod: 100000, Memory: 80 << 20, Hugepages: none}},
		{"the least quota is 1 ms", aPod("x", container(quantities("cpu", "1m"), quantities("cpu", "1m"))),
			Limits{CPUShares: 2, CPUQuota: 1000, CPUPeriod: 100000, Hugepages: none}},
		{"the most shares are 262144", aPod("x", container(quantities("cpu", "300"), nil)), Limits{CPUShares: 262144, Hugepages: none}},
		{"huge pages", aPod("x", container(quantities("cpu", "1", "hugepages-2Mi", "4Mi"), nil), container(quantities("hugepages-2Mi", "2Mi", "hugepages-1Gi", "1Gi"), nil)),
			Limits{CPUShares: 1024, Hugepages: map[int64]int64{2 << 20: 6 << 20, 1 << 30: 1 << 30}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { diff(t, "limits", tt.want, PodLimits(tt.pod)) })
	}
}

func TestSharesToWeight(t *testing.T) {
	for s, want := range map[uint64]uint64{0: 1, 2: 1, 1024: 39, 262144: 10000, 300000: 10000} {
		diff(t, "weight", want, weight(s))
	}
}
