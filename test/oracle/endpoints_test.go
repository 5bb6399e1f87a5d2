package oracle

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"github.com/podctl/podctl/internal/services"
)

// endpointCases is how many Services with their pods are compared.
const endpointCases = 2000

// TestEndpoints gives random pods and a Service to the endpoint controller's reconciler and to services.Build, and
// compares the addresses behind each port, and which are ready, serving and terminating.
func TestEndpoints(t *testing.T) {
	behind := 0
	for seed := range uint64(endpointCases) {
		g := &endpointGenerator{rand.New(rand.NewPCG(seed, 0))}
		s, pods := g.service(), []*v1.Pod{}
		for n := range g.IntN(16) {
			pods = append(pods, g.pod(n))
		}
		want, got := controllersEndpoints(t, s, pods), podctlsEndpoints(s, pods)
		behind += len(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %+v with %d pods:\npodctl     %s\ncontroller %s", seed, s.Spec, len(pods), strings.Join(got, "\n           "), strings.Join(want, "\n           "))
		}
	}
	if behind < endpointCases {
		t.Errorf("%d endpoints in %d cases: too few to compare", behind, endpointCases)
	}
}

// endpointGenerator makes what an API server admits, with its defaults.
type endpointGenerator struct{ *rand.Rand }

func one[T any](g *endpointGenerator, all ...T) T { return all[g.IntN(len(all))] }

func (g *endpointGenerator) service() *v1.Service {
	s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}
	s.Spec.Type, s.Spec.ClusterIP, s.Spec.IPFamilies = v1.ServiceTypeClusterIP, one(g, "10.96.1.1", v1.ClusterIPNone), []v1.IPFamily{v1.IPv4Protocol}
	s.Spec.Selector = one(g, map[string]string{"app": "web"}, map[string]string{"app": "web", "tier": "front"})
	s.Spec.PublishNotReadyAddresses = g.IntN(4) == 0
	for n := range g.IntN(4) {
		p := v1.ServicePort{Name: fmt.Sprintf("p%d", n), Port: int32(80 + n), Protocol: one(g, v1.ProtocolTCP, v1.ProtocolUDP)}
		p.TargetPort = one(g, intstr.FromInt32(p.Port), intstr.FromInt32(8080), intstr.FromString("http"), intstr.FromString("dns"))
		s.Spec.Ports = append(s.Spec.Ports, p)
	}
	if len(s.Spec.Ports) == 0 && s.Spec.ClusterIP != v1.ClusterIPNone {
		s.Spec.Ports = []v1.ServicePort{{Port: 80, Protocol: v1.ProtocolTCP, TargetPort: intstr.FromInt32(80)}}
	}
	return s
}

func (g *endpointGenerator) pod(n int) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: one(g, "default", "default", "default", "other"), Name: fmt.Sprintf("web-%d", n), UID: types.UID(fmt.Sprint(n))}}
	front := map[string]string{"app": "web", "tier": "front"}
	p.Labels = one(g, front, front, front, map[string]string{"app": "web"}, map[string]string{"app": "db"}, nil)
	p.Spec.NodeName = "node"
	for range 1 + g.IntN(2) {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Ports: g.ports()})
	}
	if g.IntN(3) == 0 {
		sidecar := v1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []v1.Container{{Ports: g.ports(), RestartPolicy: one(g, nil, &sidecar)}}
	}
	p.Spec.Hostname, p.Spec.Subdomain = one(g, "", fmt.Sprintf("web-%d", n)), one(g, "", "web", "other")
	p.Status.Phase = one(g, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodPending, v1.PodSucceeded, v1.PodFailed, v1.PodPhase(""))
	four, six := v1.PodIP{IP: fmt.Sprintf("10.0.0.%d", n+1)}, v1.PodIP{IP: fmt.Sprintf("fd00::%d", n+1)}
	p.Status.PodIPs = one(g, []v1.PodIP{four}, []v1.PodIP{four}, []v1.PodIP{six, four}, []v1.PodIP{six}, nil)
	if len(p.Status.PodIPs) > 0 {
		p.Status.PodIP = p.Status.PodIPs[0].IP
	}
	if status := one(g, v1.ConditionTrue, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown, v1.ConditionStatus("")); status != "" {
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: status}}
	}
	if g.IntN(4) == 0 {
		p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return p
}

func (g *endpointGenerator) ports() (all []v1.ContainerPort) {
	for range g.IntN(3) {
		all = append(all, v1.ContainerPort{Name: one(g, "http", "dns", ""), ContainerPort: int32(1000 + g.IntN(5)), Protocol: one(g, v1.ProtocolTCP, v1.ProtocolUDP)})
	}
	return all
}

// controllersEndpoints are the endpoints in the EndpointSlices that the controller creates: for each its ports.
func controllersEndpoints(t *testing.T, s *v1.Service, pods []*v1.Pod) []string {
	t.Helper()
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	if err := nodes.Add(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}); err != nil {
		t.Fatal(err)
	}
	var created []*discoveryv1.EndpointSlice
	client := fake.NewClientset()
	client.PrependReactor("create", "endpointslices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		slice := a.(clienttesting.CreateAction).GetObject().(*discoveryv1.EndpointSlice)
		created = append(created, slice)
		return true, slice, nil
	})
	reconciler := endpointslice.NewReconciler(client, corelisters.NewNodeLister(nodes), 100, endpointsliceutil.NewEndpointSliceTracker(), nil, &record.FakeRecorder{}, "test")
	var selected []*v1.Pod
	for _, p := range pods { // syncService in pkg/controller/endpointslice/endpointslice_controller.go
		if p.Namespace == s.Namespace && labels.Set(s.Spec.Selector).AsSelectorPreValidated().Matches(labels.Set(p.Labels)) {
			selected = append(selected, p)
		}
	}
	if err := reconciler.Reconcile(klog.Background(), s, selected, nil, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, slice := range created {
		for _, e := range slice.Endpoints {
			number := func(name string) int32 {
				for _, p := range slice.Ports {
					if *p.Name == name {
						return *p.Port
					}
				}
				return 0
			}
			var ports []int32
			for _, p := range s.Spec.Ports {
				ports = append(ports, number(p.Name))
			}
			host := ""
			if e.Hostname != nil {
				host = *e.Hostname
			}
			all = append(all, endpointText(e.Addresses[0], e.TargetRef.Name, host, ports, *e.Conditions.Ready, *e.Conditions.Serving, *e.Conditions.Terminating))
		}
	}
	return sorted(all)
}

func podctlsEndpoints(s *v1.Service, pods []*v1.Pod) (all []string) {
	in := services.Input{Services: []*v1.Service{s}}
	for _, p := range pods {
		in.Pods = append(in.Pods, services.Trim(p))
	}
	for _, e := range services.Build([]services.Input{in}, services.DefaultRange, "node")[0].Endpoints {
		all = append(all, endpointText(e.Address, e.Pod, e.Hostname, e.Ports, e.Ready, e.Serving, e.Terminating))
	}
	return sorted(all)
}

func endpointText(address, pod, host string, ports []int32, ready, serving, terminating bool) string {
	return fmt.Sprintf("%s %s %s %v ready=%v serving=%v terminating=%v", address, pod, cmp.Or(host, "-"), ports, ready, serving, terminating)
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}
