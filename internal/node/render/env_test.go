package render

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

func TestVariableOrderAndDuplicates(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Spec.Containers[0].Env = []v1.EnvVar{
			{Name: "B", Value: "$(A)-$(B)"}, {Name: "A", Value: "1"}, {Name: "C", Value: "$(A)$(B)"}, {Name: "A", Value: "2$(A)"},
		}
		p.Spec.Containers[0].Command = []string{"$(A)", "$(C)"}
		p.Spec.Containers[0].Args = []string{"$$(A)", "$(NO)"}
	})
	cfg, err := Container(p, &p.Spec.Containers[0], input())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, kv := range cfg.Envs {
		got = append(got, kv.Key+"="+string(kv.Value))
	}
	diff(t, "env", []string{"B=$(A)-$(B)", "A=21", "C=1$(A)-$(B)"}, got)
	diff(t, "command", []string{"21", "1$(A)-$(B)"}, cfg.Command)
	diff(t, "args", []string{"$(A)", "$(NO)"}, cfg.Args)
}

func TestFieldRef(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Labels = map[string]string{"b": "2", "a": `q"`}
		p.Annotations = map[string]string{"Upper/Key": "v"}
		p.Spec.ServiceAccountName = "sa"
		p.Spec.NodeName = "elsewhere"
	})
	ips := []string{"fd00::2", "10.0.0.2", "10.0.0.3"}
	for path, want := range map[string]string{
		"metadata.name":                     "web",
		"metadata.namespace":                "shop",
		"metadata.uid":                      "u1",
		"metadata.labels":                   "a=\"q\\\"\"\nb=\"2\"",
		"metadata.labels['b']":              "2",
		"metadata.labels['none']":           "",
		"metadata.annotations":              `Upper/Key="v"`,
		"metadata.annotations['Upper/Key']": "v",
		"spec.nodeName":                     "n1",
		"spec.host":                         "n1",
		"spec.serviceAccountName":           "sa",
		"status.hostIP":                     "192.0.2.1",
		"status.hostIPs":                    "192.0.2.1,2001:db8::1",
		"status.podIP":                      "10.0.0.2",
		"status.podIPs":                     "10.0.0.2,fd00::2",
	} {
		got, err := field(p, &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}, aNode(), ips)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		diff(t, path, want, got)
	}
	for _, path := range []string{"status.phase", "spec.restartPolicy", "metadata.name['x']", "metadata.labels['']", "metadata.labels['a b']", "['x']", ""} {
		if _, err := field(p, &v1.ObjectFieldSelector{FieldPath: path}, aNode(), ips); err == nil {
			t.Errorf("%q is accepted", path)
		}
	}
	if _, err := field(p, &v1.ObjectFieldSelector{APIVersion: "v2", FieldPath: "metadata.name"}, aNode(), ips); err == nil {
		t.Error("apiVersion v2 is accepted")
	}
}

func TestHostNetworkPodHasNodeAddresses(t *testing.T) {
	p := aPod(func(p *v1.Pod) { p.Spec.HostNetwork = true })
	in := input(func(in *ContainerInput) { in.PodIPs = nil })
	diff(t, "IPs", in.Node.IPs, in.podIPs(p))
}

func TestResourceFieldRef(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{{Name: "i"}}
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{
			Limits:   quantities("cpu", "1500m", "hugepages-2Mi", "4Mi"),
			Requests: quantities("memory", "100Mi"),
		}
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "other"})
	})
	podLimited := p.DeepCopy()
	podLimited.Spec.Resources = &v1.ResourceRequirements{Limits: quantities("memory", "256Mi", "cpu", "2")}
	tests := []struct {
		name                     string
		pod                      *v1.Pod
		container, path, divisor string
		want                     string
	}{
		{"whole CPUs, rounded up", p, "", "limits.cpu", "", "2"},
		{"thousandths", p, "", "limits.cpu", "1m", "1500"},
		{"request", p, "", "requests.memory", "", "104857600"},
		{"request in Mi", p, "", "requests.memory", "1Mi", "100"},
		{"rounded up", p, "", "requests.memory", "3Mi", "34"},
		{"no request is 0", p, "", "requests.cpu", "", "0"},
		{"no limit is what the node has", p, "", "limits.memory", "1Mi", "900"},
		{"the same of storage", p, "", "limits.ephemeral-storage", "1Gi", "90"},
		{"no limit is what the pod has", podLimited, "", "limits.memory", "1Mi", "256"},
		{"the pod's does not win over the container's", podLimited, "", "limits.cpu", "1m", "1500"},
		{"another container", p, "other", "limits.cpu", "", "2"},
		{"an init container gets no default", p, "i", "limits.cpu", "", "0"},
		{"huge pages", p, "", "limits.hugepages-2Mi", "1Mi", "4"},
		{"huge pages get no default", p, "", "limits.hugepages-1Gi", "", "0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ref := &v1.ResourceFieldSelector{ContainerName: tt.container, Resource: tt.path}
			if tt.divisor != "" {
				ref.Divisor = resource.MustParse(tt.divisor)
			}
			got, err := resourceField(tt.pod, &tt.pod.Spec.Containers[0], ref, aNode())
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "value", tt.want, got)
		})
	}
	for _, ref := range []v1.ResourceFieldSelector{{Resource: "limits.pods"}, {Resource: "cpu"}, {Resource: "limits.cpu", ContainerName: "none"}} {
		if _, err := resourceField(p, &p.Spec.Containers[0], &ref, aNode()); err == nil {
			t.Errorf("%+v is accepted", ref)
		}
	}
}

// A few lines can ask for terabytes.
func TestExpansionIsBounded(t *testing.T) {
	ten := func(name string) string { return strings.Repeat("$("+name+")", 10) }
	bomb := []v1.EnvVar{{Name: "V0", Value: "aaaaaaaaaa"}}
	for i := range 10 {
		bomb = append(bomb, v1.EnvVar{Name: fmt.Sprintf("V%d", i+1), Value: ten(fmt.Sprintf("V%d", i))})
	}
	large := v1.EnvVar{Name: "A", Value: strings.Repeat("a", 1<<20)}
	for name, set := range map[string]func(c *v1.Container){
		"variables":          func(c *v1.Container) { c.Env = bomb },
		"command":            func(c *v1.Container) { c.Env, c.Command = []v1.EnvVar{large}, []string{ten("A")} },
		"arguments together": func(c *v1.Container) { c.Env, c.Args = []v1.EnvVar{large}, slices.Repeat([]string{"$(A)"}, 10) },
		"part of a volume": func(c *v1.Container) {
			c.Env, c.VolumeMounts = []v1.EnvVar{large}, []v1.VolumeMount{{Name: "v", MountPath: "/v", SubPathExpr: ten("A")}}
		},
		"a ConfigMap many times": func(c *v1.Container) {
			for i := range 10 {
				from := v1.LocalObjectReference{Name: "large"}
				c.EnvFrom = append(c.EnvFrom, v1.EnvFromSource{Prefix: fmt.Sprintf("P%d", i), ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: from}})
			}
		},
	} {
		p := aPod(func(p *v1.Pod) { set(&p.Spec.Containers[0]) })
		in := input()
		in.Objects = &pod.Objects{ConfigMaps: map[types.NamespacedName]*v1.ConfigMap{
			{Namespace: p.Namespace, Name: "large"}: {Data: map[string]string{"a": large.Value}},
		}}
		_, err := SubPaths(p, &p.Spec.Containers[0], in)
		if err == nil {
			_, err = Container(p, &p.Spec.Containers[0], in)
		}
		if !errors.Is(err, pod.ErrExpansion) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServiceLinks has the variables of pkg/kubelet/envvars, and who hides whom.
func TestServiceLinks(t *testing.T) {
	web := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "my-web"}}
	web.Spec = v1.ServiceSpec{ClusterIP: "10.96.0.9", Ports: []v1.ServicePort{{Name: "http-alt", Port: 80, Protocol: v1.ProtocolTCP}, {Name: "dns", Port: 53, Protocol: v1.ProtocolUDP}}}
	other, headless := web.DeepCopy(), web.DeepCopy()
	other.Namespace, other.Name = "other", "hidden"
	headless.Name, headless.Spec.ClusterIP = "headless", v1.ClusterIPNone
	objects := pod.NewObjects()
	for _, s := range []*v1.Service{web, other, headless} {
		objects.Services[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = s
	}
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	c := &v1.Container{Env: []v1.EnvVar{{Name: "URL", Value: "http://$(MY_WEB_SERVICE_HOST)"}, {Name: "MY_WEB_PORT", Value: "own"}}}
	env, err := makeEnvironment(p, c, ContainerInput{Objects: objects})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"URL": "http://10.96.0.9", "MY_WEB_PORT": "own", "MY_WEB_SERVICE_HOST": "10.96.0.9", "MY_WEB_SERVICE_PORT": "80",
		"MY_WEB_SERVICE_PORT_HTTP_ALT": "80", "MY_WEB_SERVICE_PORT_DNS": "53",
		"MY_WEB_PORT_80_TCP": "tcp://10.96.0.9:80", "MY_WEB_PORT_80_TCP_PROTO": "tcp", "MY_WEB_PORT_80_TCP_PORT": "80", "MY_WEB_PORT_80_TCP_ADDR": "10.96.0.9",
		"MY_WEB_PORT_53_UDP": "udp://10.96.0.9:53", "MY_WEB_PORT_53_UDP_PROTO": "udp", "MY_WEB_PORT_53_UDP_PORT": "53", "MY_WEB_PORT_53_UDP_ADDR": "10.96.0.9",
	}
	if !maps.Equal(env.values, want) {
		t.Errorf("variables %v, want %v", env.values, want)
	}
	no := false
	p.Spec.EnableServiceLinks = &no
	if env, err := makeEnvironment(p, c, ContainerInput{Objects: objects}); err != nil || len(env.values) != 2 {
		t.Errorf("without links: %v, %v", env.values, err)
	}
}

// TestClusterDNS: getPodDNSType and generateSearchesForDNSClusterFirst in pkg/kubelet/network/dns.
func TestClusterDNS(t *testing.T) {
	n := &Node{DNS: DNS{Servers: []string{"192.0.2.53"}, Searches: []string{"example.org", "svc.cluster.local"}, Options: []string{"rotate"}, Cluster: "169.254.20.10"}}
	cluster := "169.254.20.10 | shop.svc.cluster.local svc.cluster.local cluster.local example.org | ndots:5"
	node := "192.0.2.53 | example.org svc.cluster.local | rotate"
	for _, c := range []struct {
		policy      v1.DNSPolicy
		hostNetwork bool
		want        string
	}{
		{v1.DNSClusterFirst, false, cluster},
		{v1.DNSClusterFirst, true, node},
		{v1.DNSClusterFirstWithHostNet, true, cluster},
		{v1.DNSDefault, false, node},
		{v1.DNSNone, false, " |  | "},
	} {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: v1.PodSpec{DNSPolicy: c.policy, HostNetwork: c.hostNetwork}}
		cfg, _ := PodDNS(p, n)
		if got := strings.Join(cfg.Servers, " ") + " | " + strings.Join(cfg.Searches, " ") + " | " + strings.Join(cfg.Options, " "); got != c.want {
			t.Errorf("%s, host network %v: %s, want %s", c.policy, c.hostNetwork, got, c.want)
		}
	}
	n.DNS.Cluster = ""
	if cfg, _ := PodDNS(&v1.Pod{Spec: v1.PodSpec{DNSPolicy: v1.DNSClusterFirst}}, n); cfg.Servers[0] != "192.0.2.53" {
		t.Errorf("without Services: %v, want the node's", cfg.Servers)
	}
}
