package render

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
)

// aPod is a defaulted pod with one container, changed by the edits.
func aPod(edits ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u1"},
		Spec: v1.PodSpec{
			DNSPolicy:                     v1.DNSClusterFirst,
			SecurityContext:               &v1.PodSecurityContext{},
			TerminationGracePeriodSeconds: new(int64(30)),
			Containers: []v1.Container{{
				Name: "c", Image: "img:1",
				TerminationMessagePath:   "/dev/termination-log",
				TerminationMessagePolicy: v1.TerminationMessageReadFile,
			}},
		},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func aNode() *Node {
	return &Node{
		Name: "n1", IPs: []string{"192.0.2.1", "2001:db8::1"},
		MemoryCapacity: 1000 << 20, Allocatable: Allocatable(2, 1000<<20, 100<<30),
		SwapController: true, HugePageSizes: []string{"2MB", "1GB"},
		PodsDir: "/pods", LogDir: "/logs", SeccompDir: "/seccomp",
	}
}

func input(edits ...func(*ContainerInput)) ContainerInput {
	in := ContainerInput{
		Node: aNode(), PodIPs: []string{"10.0.0.7"}, Image: pod.Image{ID: "sha256:1"},
		TerminationLog: "/pods/u1/containers/c/id",
	}
	for _, edit := range edits {
		edit(&in)
	}
	return in
}

func quantities(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestRenderingChangesNeitherPodNorNode(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Labels = map[string]string{"a": "1"}
		p.Annotations = map[string]string{"b": "2"}
		p.Spec.DNSConfig = &v1.PodDNSConfig{Nameservers: []string{"9.9.9.9"}}
		p.Spec.SecurityContext.RunAsUser = new(int64(5))
	})
	in := input(func(in *ContainerInput) {
		in.Node.DNS = DNS{Servers: make([]string, 1, 8), Searches: make([]string, 1, 8)}
		in.Node.ThermalThrottle = []string{"/sys/devices/system/cpu/cpu0/thermal_throttle"}
	})
	before := p.DeepCopy()
	for range 2 {
		if _, err := Sandbox(p, SandboxInput{Node: in.Node, Annotations: map[string]string{"podctl.io/owner": "x"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := Container(p, &p.Spec.Containers[0], in); err != nil {
			t.Fatal(err)
		}
	}
	diff(t, "pod", before, p)
	diff(t, "servers behind the slice", "", in.Node.DNS.Servers[:2][1])
	if len(maskedPaths) != 12 {
		t.Errorf("maskedPaths has %d entries, want 12", len(maskedPaths))
	}
}

func TestSandboxCarriesPodctlsAnnotationsBesideThePods(t *testing.T) {
	p := aPod(func(p *v1.Pod) { p.Annotations = map[string]string{"a": "1"} })
	cfg, err := Sandbox(p, SandboxInput{Node: aNode(), Annotations: map[string]string{"podctl.io/owner": "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "annotations", map[string]string{"a": "1", "podctl.io/owner": "agent"}, cfg.Annotations)
}

// What podctl and kubelets recognize sandboxes by is not a manifest's to choose.
func TestSandboxDoesNotCarryReservedAnnotationsOfTheManifest(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Annotations = map[string]string{
			"a": "1", pod.ConfigSourceAnnotation: "file",
			pod.OwnerAnnotation: "x", pod.InstanceAnnotation: "x", pod.WorkloadAnnotation: "x", pod.DevicesAnnotation: "x", pod.ManifestAnnotation: "x",
		}
	})
	cfg, err := Sandbox(p, SandboxInput{Node: aNode(), Annotations: map[string]string{pod.OwnerAnnotation: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "annotations", map[string]string{"a": "1", pod.OwnerAnnotation: "agent"}, cfg.Annotations)
}

func TestErrorsHaveKubeletReason(t *testing.T) {
	noUsers := aPod(func(p *v1.Pod) { p.Spec.HostUsers = new(false) })
	badEnv := aPod(func(p *v1.Pod) {
		p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "status.phase"}}}}
	})
	_, sandboxErr := Sandbox(noUsers, SandboxInput{Node: aNode()})
	_, containerErr := Container(badEnv, &badEnv.Spec.Containers[0], input())
	_, subPathErr := SubPaths(badEnv, &badEnv.Spec.Containers[0], input())
	tests := []struct {
		err           error
		reason, words string
	}{
		{sandboxErr, "CreatePodSandboxError", "render sandbox: hostUsers is false and the pod has no user namespace"},
		{containerErr, "CreateContainerConfigError", `render container "c": unsupported fieldPath "status.phase"`},
		{subPathErr, "CreateContainerConfigError", `render container "c": unsupported fieldPath "status.phase"`},
	}
	for _, tt := range tests {
		var reasoned interface{ Reason() string }
		if !errors.As(tt.err, &reasoned) {
			t.Fatalf("%v has no reason", tt.err)
		}
		diff(t, "reason", tt.reason, reasoned.Reason())
		diff(t, "words", tt.words, tt.err.Error())
	}
}

func TestHashMatchesKubelet(t *testing.T) {
	// The value is that of pkg/kubelet/container/container_hash_test.go.
	c := &v1.Container{Name: "test_container", Image: "foo/image:v1", Command: []string{"/bin/testcmd"}}
	diff(t, "hash", "8e45cbd0", Hash(c))
}

func TestAnnotationsSayHowToEndTheContainer(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.DeletionGracePeriodSeconds = new(int64(7))
		p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 3}}}
	})
	diff(t, "annotations", map[string]string{
		"io.kubernetes.container.hash":                     Hash(&p.Spec.Containers[0]),
		"io.kubernetes.container.restartCount":             "4",
		"io.kubernetes.container.terminationMessagePath":   "/dev/termination-log",
		"io.kubernetes.container.terminationMessagePolicy": "File",
		"io.kubernetes.container.preStopHandler":           `{"sleep":{"seconds":3}}`,
		"io.kubernetes.pod.terminationGracePeriod":         "30",
		"io.kubernetes.pod.deletionGracePeriod":            "7",
	}, containerAnnotations(p, &p.Spec.Containers[0], 4))
}

func TestStopSignalCountsOnlyWithItsFeature(t *testing.T) {
	c := &v1.Container{Lifecycle: &v1.Lifecycle{StopSignal: new(v1.Signal("SIGRTMIN+3"))}}
	diff(t, "off", "SIGNAL_RUNTIME_DEFAULT", stopSignal(c, &Node{}).String())
	diff(t, "on", "SIGNAL_SIGRTMINPLUS3", stopSignal(c, &Node{StopSignals: true}).String())
	diff(t, "none asked for", "SIGNAL_RUNTIME_DEFAULT", stopSignal(&v1.Container{}, &Node{StopSignals: true}).String())
}

func TestPortsAreListedOnce(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{{Name: "i", Ports: []v1.ContainerPort{{ContainerPort: 1}}}}
		p.Spec.Containers[0].Ports = []v1.ContainerPort{
			{Name: "a", ContainerPort: 80, Protocol: v1.ProtocolTCP},
			{Name: "a", ContainerPort: 81, Protocol: v1.ProtocolTCP},
			{ContainerPort: 53, Protocol: v1.ProtocolUDP},
			{ContainerPort: 53, Protocol: v1.ProtocolUDP},
			{ContainerPort: 53, Protocol: v1.ProtocolUDP, HostIP: "::1", HostPort: 53},
			{ContainerPort: 9, Protocol: v1.ProtocolSCTP},
		}
	})
	var got []string
	for _, m := range portMappings(p) {
		got = append(got, m.Protocol.String()+" "+m.HostIp+" "+resource.NewQuantity(int64(m.ContainerPort), resource.DecimalSI).String())
	}
	diff(t, "ports", []string{"TCP  80", "UDP  53", "UDP ::1 53", "SCTP  9"}, got)
}
