package preempt

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// hostPort gives the pod's container a port of the host.
func hostPort(p *v1.Pod, address string, number int32, protocol v1.Protocol) *v1.Pod {
	c := &p.Spec.Containers[0]
	c.Ports = append(c.Ports, v1.ContainerPort{HostIP: address, HostPort: number, Protocol: protocol})
	return p
}

func TestAdmitReportsTheFirstReasonInTheKubeletsWords(t *testing.T) {
	const roomy = "cpu=4 memory=8Gi ephemeral-storage=10Gi pods=10"
	strict := v1.SupplementalGroupsPolicyStrict
	noExecute := func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "down", Effect: v1.TaintEffectNoExecute}} }
	for _, c := range []struct {
		name    string
		pod     *v1.Pod
		node    *v1.Node
		change  func(*v1.Node)
		others  []*v1.Pod
		reason  string // "" is admitted
		message string
		plan    bool
	}{
		{name: "fits exactly", pod: app("a", "cpu=4 memory=8Gi"), plan: true},
		{name: "cpu", pod: app("a", "cpu=1500m"), others: []*v1.Pod{app("b", "cpu=3")}, plan: true,
			reason: "OutOfcpu", message: "Node didn't have enough resource: cpu, requested: 1500, used: 3000, capacity: 4000"},
		{name: "memory", pod: app("a", "memory=9Gi"), plan: true,
			reason: "OutOfmemory", message: "Node didn't have enough resource: memory, requested: 9663676416, used: 0, capacity: 8589934592"},
		{name: "cpu before memory", pod: app("a", "cpu=5 memory=9Gi"), reason: "OutOfcpu", plan: true},
		{name: "ephemeral storage", pod: app("a", "ephemeral-storage=11Gi"), reason: "OutOfephemeral-storage", plan: true},
		{name: "pods come first", pod: app("a", "cpu=5"), node: machine("cpu=4 memory=1Gi pods=1"), others: []*v1.Pod{app("b", "")}, plan: true,
			reason: "OutOfpods", message: "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1"},
		{name: "no pods in allocatable", pod: app("a", ""), node: machine("cpu=4 memory=1Gi"), reason: "OutOfpods", plan: true},
		{name: "hugepages that the node lacks", pod: app("a", "hugepages-2Mi=4Mi"), reason: "OutOfhugepages-2Mi", plan: true},
		{name: "an extended resource that the node lacks", pod: app("a", "example.com/gpu=2"), plan: true},
		{name: "an extended resource used up", pod: app("a", "example.com/gpu=2"), node: machine("cpu=4 memory=1Gi pods=9 example.com/gpu=3"), plan: true,
			others: []*v1.Pod{app("b", "example.com/gpu=2")}, reason: "OutOfexample.com/gpu"},
		{name: "an extended resource of zero", pod: app("a", "example.com/gpu=1"), node: machine("cpu=4 memory=1Gi pods=9 example.com/gpu=0"), plan: true, reason: "OutOfexample.com/gpu"},
		{name: "scalars in the order of their names", pod: app("a", "hugepages-2Mi=4Mi hugepages-1Gi=1Gi"), reason: "OutOfhugepages-1Gi", plan: true},
		{name: "nothing asked of an overcommitted node", pod: app("a", ""), others: []*v1.Pod{app("b", "cpu=5")}, plan: true},
		{name: "memory asked of a node with cpu overcommitted", pod: app("a", "memory=1Gi"), others: []*v1.Pod{app("b", "cpu=5")}, plan: true},
		{name: "itself among the pods", pod: app("a", "cpu=3"), others: []*v1.Pod{app("a", "cpu=3")}, plan: true},
		{name: "a system by label", pod: with(app("a", ""), func(p *v1.Pod) { p.Labels = map[string]string{"kubernetes.io/os": "windows"} }),
			reason: "PodOSSelectorNodeLabelDoesNotMatch", message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"},
		{name: "a system by field", pod: with(app("a", "cpu=9"), func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} }),
			reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS"},
		{name: "the node's system", pod: with(app("a", ""), func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} }),
			change: func(n *v1.Node) { n.Status.NodeInfo.OperatingSystem = "windows" }, plan: true},
		{name: "strict groups", pod: with(app("a", ""), func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: &strict}
		}), reason: "SupplementalGroupsPolicyNotSupported", message: "SupplementalGroupsPolicy=Strict is not supported in this node"},
		{name: "strict groups on a node that can", pod: with(app("a", ""), func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: &strict}
		}), change: func(n *v1.Node) { yes := true; n.Status.Features = &v1.NodeFeatures{SupplementalGroupsPolicy: &yes} }, plan: true},
		{name: "node selector", pod: with(app("a", ""), func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} }),
			reason: "NodeAffinity", message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		{name: "node selector that matches", pod: with(app("a", ""), func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd", "kubernetes.io/os": "linux"} }), plan: true},
		{name: "node affinity", pod: with(app("a", ""), func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n2"}}}}},
			}}}
		}), reason: "NodeAffinity"},
		{name: "labels that are not known", pod: with(app("a", ""), func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} }),
			change: func(n *v1.Node) { n.Labels = nil }, plan: true},
		{name: "another node's name", pod: with(app("a", ""), func(p *v1.Pod) { p.Spec.NodeName = "n2" }),
			reason: "NodeName", message: "Predicate NodeName failed: node(s) didn't match the requested node name"},
		{name: "host port", pod: hostPort(app("a", ""), "", 80, ""), others: []*v1.Pod{hostPort(app("b", ""), "10.0.0.1", 80, v1.ProtocolTCP)},
			reason: "NodePorts", message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"},
		{name: "host port of every address", pod: hostPort(app("a", ""), "10.0.0.1", 80, ""), others: []*v1.Pod{hostPort(app("b", ""), "0.0.0.0", 80, "")}, reason: "NodePorts"},
		{name: "host port of another protocol", pod: hostPort(app("a", ""), "", 80, v1.ProtocolUDP), others: []*v1.Pod{hostPort(app("b", ""), "", 80, "")}, plan: true},
		{name: "host port on another address", pod: hostPort(app("a", ""), "10.0.0.2", 80, ""), others: []*v1.Pod{hostPort(app("b", ""), "10.0.0.1", 80, "")}, plan: true},
		{name: "taint", pod: app("a", ""), change: noExecute,
			reason: "TaintToleration", message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"},
		{name: "a taint for others", pod: app("a", ""), change: func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "x", Effect: v1.TaintEffectNoSchedule}} }, plan: true},
		{name: "tolerated taint", pod: with(app("a", ""), func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} }), change: noExecute, plan: true},
		{name: "a static pod minds no taint", pod: with(app("a", ""), func(p *v1.Pod) {
			p.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
		}), change: noExecute, plan: true},
		{name: "resources before ports", pod: hostPort(app("a", "cpu=5"), "", 80, ""), others: []*v1.Pod{hostPort(app("b", ""), "", 80, "")}, reason: "OutOfcpu"},
		{name: "a critical pod is not rejected for resources beside ports", pod: hostPort(dns("cpu=5"), "", 80, ""), others: []*v1.Pod{hostPort(app("b", "cpu=2"), "", 80, "")}, reason: "NodePorts"},
		{name: "a critical pod preempts", pod: dns("cpu=3"), others: []*v1.Pod{app("b", "cpu=2")}, plan: true},
		{name: "a critical pod that cannot", pod: dns("cpu=5"), others: []*v1.Pod{app("b", "cpu=2")}, plan: true, reason: "UnexpectedAdmissionError",
			message: "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: " +
				"no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := c.node
			if node == nil {
				node = machine(roomy)
			}
			if c.change != nil {
				c.change(node)
			}
			d := Admit(c.pod, node, c.others)
			if d.Admitted != (c.reason == "") || d.Reason != c.reason || c.message != "" && d.Message != c.message {
				t.Errorf("admitted %v, %s: %q; want %s: %q", d.Admitted, d.Reason, d.Message, c.reason, c.message)
			}
			if (d.Plan != nil) != c.plan {
				t.Errorf("plan %v, want %v", d.Plan != nil, c.plan)
			}
		})
	}
}

func TestAdmitSaysWhatItDidNotCheck(t *testing.T) {
	p := app("a", "example.com/gpu=1 example.com/fpga=1")
	p.Spec.NodeSelector, p.Spec.NodeName = map[string]string{"disk": "hdd"}, "n2"
	d := Admit(p, &v1.Node{Status: v1.NodeStatus{Allocatable: quantities("pods=1 example.com/gpu=1")}}, nil)
	if !d.Admitted || len(d.Unchecked) != 3 || !slices.Equal(d.Ignored, []v1.ResourceName{"example.com/fpga"}) {
		t.Errorf("admitted %v, unchecked %q, ignored %q", d.Admitted, d.Unchecked, d.Ignored)
	}
	if p.Spec.Containers[0].Resources.Requests.Name("example.com/fpga", "").IsZero() {
		t.Error("the pod was changed")
	}
}

// What is not known of the node rejects no pod, and is said where the pod depends on it.
func TestAdmitSaysThatFeaturesAndTaintsAreNotKnown(t *testing.T) {
	strict := v1.SupplementalGroupsPolicyStrict
	strictly := with(app("a", ""), func(p *v1.Pod) {
		p.Spec.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: &strict}
	})
	tolerant := with(app("a", ""), func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} })
	nowhere := v1.Node{Status: v1.NodeStatus{Allocatable: quantities("pods=9")}}
	untainted := *nowhere.DeepCopy()
	untainted.Spec.Taints = []v1.Taint{}
	const features, taints = "supplementalGroupsPolicy: whether the node supports Strict is not known", "taints: the node's are not known"
	for _, c := range []struct {
		name string
		pod  *v1.Pod
		node *v1.Node
		want []string
	}{
		{"strict groups", strictly, &nowhere, []string{features, taints}},
		{"a node without taints", strictly, &untainted, []string{features}},
		{"a pod that tolerates all", tolerant, &nowhere, nil},
		{"a static pod", with(app("a", ""), func(p *v1.Pod) {
			p.Annotations = map[string]string{pod.ConfigSourceAnnotation: "file"}
		}), &nowhere, nil},
		{"a node of the cluster", app("a", ""), machine("pods=9"), nil},
	} {
		if d := Admit(c.pod, c.node, nil); !d.Admitted || !slices.Equal(d.Unchecked, c.want) {
			t.Errorf("%s: admitted %v (%s), unchecked %q, want %q", c.name, d.Admitted, d.Reason, d.Unchecked, c.want)
		}
	}
}

func TestAdmitKeepsAccounts(t *testing.T) {
	resized := app("b", "cpu=1")
	resized.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c",
		AllocatedResources: quantities("cpu=1"), Resources: &v1.ResourceRequirements{Requests: quantities("cpu=2")}}}
	heavy := app("h", "memory=1Gi")
	heavy.Spec.Overhead = quantities("cpu=100m memory=1Mi")
	d := Admit(app("a", "cpu=500m"), machine("cpu=2500m memory=2Gi pods=5 example.com/gpu=1"), []*v1.Pod{resized, heavy})
	want := []Usage{
		{"pods", 5, 2, 1}, {"cpu", 2500, 2100, 500}, {"memory", 2 << 30, 1<<30 + 1<<20, 0}, {"ephemeral-storage", 0, 0, 0}, {gpu, 1, 0, 0},
	}
	if !slices.Equal(d.Usage, want) {
		t.Errorf("got %v, want %v", d.Usage, want)
	}
	if short := d.Usage[1].Short(); short != 100 {
		t.Errorf("short of %d", short)
	}
}

func TestAdmitNamesWhoHasThePort(t *testing.T) {
	sidecar := v1.ContainerRestartPolicyAlways
	holder := app("web", "")
	holder.Spec.InitContainers = []v1.Container{
		{Name: "init", Ports: []v1.ContainerPort{{HostPort: 81}}},
		{Name: "side", Ports: []v1.ContainerPort{{HostPort: 80}}, RestartPolicy: &sidecar},
	}
	node := machine("pods=9")
	d := Admit(hostPort(app("a", ""), "", 80, ""), node, []*v1.Pod{holder})
	if len(d.Failures) != 1 || !strings.Contains(d.Failures[0].Detail, "default/web has port 80/TCP") {
		t.Errorf("%+v", d.Failures)
	}
	if d := Admit(hostPort(app("a", ""), "", 81, ""), node, []*v1.Pod{holder}); !d.Admitted {
		t.Errorf("an init container's port: %s", d.Reason)
	}
}
