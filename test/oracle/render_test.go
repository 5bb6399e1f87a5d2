package oracle

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/cgroup"
	"github.com/podctl/podctl/internal/render"
)

// The addresses that stand for the recording's <podIP> and <hostIP>.
const podIP, hostIP = "10.88.0.7", "192.0.2.7"

// podCase is one directory of oracle/pods.
type podCase struct {
	pod   *v1.Pod
	calls []podCall
}

type podCall struct {
	Method    string         `json:"method"`
	Container string         `json:"container"`
	Args      map[string]any `json:"args"`
}

// TestPodsConfig compares every sandbox and container config that the kubelet
// sent with the one that render makes of the same manifest, field by field.
// Left out are the fields that oracle/README.md exempts.
func TestPodsConfig(t *testing.T) {
	cases := readPodCases(t)
	node := recordingNode(cases)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			compared := 0
			for _, call := range c.calls {
				switch call.Method {
				case "RunPodSandbox":
					compareConfig(t, call, renderSandbox(t, node, c.pod, call))
				case "CreateContainer":
					compareConfig(t, call, renderContainer(t, node, c.pod, call))
				default:
					continue
				}
				compared++
			}
			if compared == 0 {
				t.Error("the recording has no config")
			}
		})
	}
}

func readPodCases(t *testing.T) map[string]podCase {
	t.Helper()
	dir := oracleDir(t, "pods")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]podCase{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		var recorded struct {
			Calls []podCall `json:"calls"`
		}
		if err := json.Unmarshal(readFile(t, dir, entry.Name(), "calls.json"), &recorded); err != nil {
			t.Fatalf("%s: %v", entry.Name(), err)
		}
		cases[entry.Name()] = podCase{
			pod:   decodePod(t, readFile(t, dir, entry.Name(), "pod.yaml")),
			calls: recorded.Calls,
		}
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", dir)
	}
	return cases
}

func readFile(t *testing.T, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decodePod(t *testing.T, document []byte) *v1.Pod {
	t.Helper()
	p := &v1.Pod{}
	if err := yaml.UnmarshalStrict(document, p); err != nil {
		t.Fatal(err)
	}
	corev1.SetObjectDefaults_Pod(p)
	if p.Namespace == "" {
		p.Namespace = v1.NamespaceDefault
	}
	p.UID = "<uid>"
	return p
}

// recordingNode is the machine of the recording: 2 CPUs, 24,684,084 KiB,
// cgroup v1. Its DNS servers and page sizes, which may differ in another
// recording, are those of the first pod that has them from the node.
func recordingNode(cases map[string]podCase) *render.Node {
	const memory = 24684084 << 10
	n := &render.Node{
		Name:           "<node>",
		IPs:            []string{hostIP},
		MemoryCapacity: memory,
		Allocatable:    render.Allocatable(2, memory, 0),
		SwapController: true,
		PodsDir:        "<pods>",
		LogDir:         "<logs>",
		SeccompDir:     "<root>/seccomp",
	}
	for _, c := range cases {
		for _, call := range c.calls {
			var recorded struct {
				DNSConfig struct{ Servers, Searches, Options []string }
				Linux     struct {
					Resources struct{ HugepageLimits []struct{ PageSize string } }
				}
			}
			remarshal(call.Args, &recorded)
			if call.Method == "RunPodSandbox" && c.pod.Spec.DNSPolicy != v1.DNSNone && c.pod.Spec.DNSConfig == nil {
				n.DNS = render.DNS(recorded.DNSConfig)
			}
			if limits := recorded.Linux.Resources.HugepageLimits; limits != nil {
				n.HugePageSizes = nil
				for _, l := range limits {
					n.HugePageSizes = append(n.HugePageSizes, l.PageSize)
				}
			}
		}
	}
	return n
}

func renderSandbox(t *testing.T, n *render.Node, p *v1.Pod, call podCall) proto.Message {
	t.Helper()
	cfg, err := render.Sandbox(p, render.SandboxInput{
		Node:         n,
		Attempt:      attempt(call),
		CgroupParent: cgroup.Parent("podctl", cgroup.Cgroupfs, p),
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func renderContainer(t *testing.T, n *render.Node, p *v1.Pod, call podCall) proto.Message {
	t.Helper()
	var c *v1.Container
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if list[i].Name == call.Container {
				c = &list[i]
			}
		}
	}
	if c == nil {
		t.Fatalf("the pod has no container %q", call.Container)
	}
	in := render.ContainerInput{
		Node:           n,
		Attempt:        attempt(call),
		Image:          render.Image{Ref: recordedImage(call.Args)},
		Volumes:        map[string]string{},
		SubPaths:       map[int]string{},
		ImageVolumes:   map[string]*runtimeapi.ImageSpec{},
		TerminationLog: filepath.Join(n.ContainerDir(p.UID, c.Name), "<id>"),
	}
	if !p.Spec.HostNetwork {
		in.PodIPs = []string{podIP}
	}
	for _, v := range p.Spec.Volumes {
		if v.Image != nil {
			in.ImageVolumes[v.Name] = &runtimeapi.ImageSpec{Image: in.Image.Ref, UserSpecifiedImage: v.Image.Reference}
			continue
		}
		in.Volumes[v.Name] = volumePath(t, n, p, &v)
	}
	parts, err := render.SubPaths(p, c, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		in.SubPaths[part.Index] = part.Dir
	}
	cfg, err := render.Container(p, c, in)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// volumePath is where the kubelet's layout has the volume.
func volumePath(t *testing.T, n *render.Node, p *v1.Pod, v *v1.Volume) string {
	t.Helper()
	kind := ""
	switch {
	case v.HostPath != nil:
		return v.HostPath.Path
	case v.EmptyDir != nil:
		kind = "empty-dir"
	case v.ConfigMap != nil:
		kind = "configmap"
	case v.Secret != nil:
		kind = "secret"
	case v.DownwardAPI != nil:
		kind = "downward-api"
	case v.Projected != nil:
		kind = "projected"
	default:
		t.Fatalf("volume %q is of a kind without a place in the layout", v.Name)
	}
	return filepath.Join(n.Dir(p.UID), "volumes", "kubernetes.io~"+kind, v.Name)
}

func attempt(call podCall) uint32 {
	var recorded struct{ Metadata struct{ Attempt uint32 } }
	remarshal(call.Args, &recorded)
	return recorded.Metadata.Attempt
}

func recordedImage(args map[string]any) string {
	var recorded struct{ Image struct{ Image string } }
	remarshal(args, &recorded)
	return recorded.Image.Image
}

// compareConfig compares the recorded arguments with a config, both as JSON.
func compareConfig(t *testing.T, call podCall, cfg proto.Message) {
	t.Helper()
	b, err := protojson.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	masked := strings.NewReplacer(podIP, "<podIP>", hostIP, "<hostIP>").Replace(string(b))
	var got map[string]any
	if err := json.Unmarshal([]byte(masked), &got); err != nil {
		t.Fatal(err)
	}
	want := exempt(nil, call.Args).(map[string]any)
	got = exempt(nil, envsAsObject(got)).(map[string]any)
	if diff := cmp.Diff(want, got, cmp.FilterValues(oneIsAny, cmp.Ignore())); diff != "" {
		t.Errorf("%s %s (-kubelet +podctl):\n%s", call.Method, call.Container, diff)
	}
}

// envsAsObject turns the variables into an object, as the recording has them.
func envsAsObject(cfg map[string]any) map[string]any {
	list, ok := cfg["envs"].([]any)
	if !ok {
		return cfg
	}
	object := map[string]any{}
	for _, item := range list {
		kv := item.(map[string]any)
		value, _ := kv["value"].(string)
		plain, _ := base64.StdEncoding.DecodeString(value)
		masked := strings.NewReplacer(podIP, "<podIP>", hostIP, "<hostIP>").Replace(string(plain))
		object[kv["key"].(string)] = masked
	}
	cfg["envs"] = object
	return cfg
}

// exempt is v without what oracle/README.md exempts: annotations
// kubernetes.io/config.*, and the first element of cgroupParent. A map that
// is left empty goes too.
func exempt(path []string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if strings.HasPrefix(key, "kubernetes.io/config.") {
				continue
			}
			if value = exempt(append(path, key), value); key == "annotations" && len(value.(map[string]any)) == 0 {
				continue
			}
			out[key] = value
		}
		return out
	case []any:
		var out []any
		for _, value := range v {
			out = append(out, exempt(path, value))
		}
		return out
	case string:
		if path[len(path)-1] == "cgroupParent" {
			_, rest, _ := strings.Cut(strings.TrimPrefix(v, "/"), "/")
			return rest
		}
	}
	return v
}

// oneIsAny tells whether the recording has <any> there.
func oneIsAny(a, b any) bool { return (a == "<any>") != (b == "<any>") }

func remarshal(from, to any) {
	b, err := json.Marshal(from)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		panic(err)
	}
}
