package oracle

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/pod"
)

// TestPodsConfig compares every sandbox and container config that the kubelet
// sent with the one that render makes of the same manifest, field by field.
// Left out are the fields that may differ (doc.go).
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

func renderSandbox(t *testing.T, n *render.Node, p *v1.Pod, call podCall) proto.Message {
	t.Helper()
	cfg, err := render.Sandbox(p, render.SandboxInput{
		Node:          n,
		Attempt:       attempt(call),
		CgroupParent:  cgroup.Parent("podctl", cgroup.Cgroupfs, p),
		UserNamespace: userNamespace(t, call),
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
		Image:          pod.Image{ID: recordedImage(call.Args)},
		Volumes:        map[string]string{},
		SubPaths:       map[int]string{},
		ImageVolumes:   map[string]*runtimeapi.ImageSpec{},
		TerminationLog: filepath.Join(n.ContainerDir(p.UID, c.Name), "<id>"),
		UserNamespace:  userNamespace(t, call),
	}
	if !p.Spec.HostNetwork {
		in.PodIPs = []string{podIP}
	}
	for _, v := range p.Spec.Volumes {
		if v.Image != nil {
			in.ImageVolumes[v.Name] = &runtimeapi.ImageSpec{Image: in.Image.ID, UserSpecifiedImage: v.Image.Reference}
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

// userNamespace is the range of ids that the kubelet drew for the pod.
func userNamespace(t *testing.T, call podCall) *runtimeapi.UserNamespace {
	t.Helper()
	var recorded struct {
		Linux struct {
			SecurityContext struct {
				NamespaceOptions struct{ UsernsOptions json.RawMessage }
			}
		}
	}
	remarshal(call.Args, &recorded)
	if recorded.Linux.SecurityContext.NamespaceOptions.UsernsOptions == nil {
		return nil
	}
	users := &runtimeapi.UserNamespace{}
	if err := protojson.Unmarshal(recorded.Linux.SecurityContext.NamespaceOptions.UsernsOptions, users); err != nil {
		t.Fatal(err)
	}
	return users
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

// TestPodsLayout compares the package that names the files of a pod with the
// one that makes them.
func TestPodsLayout(t *testing.T) {
	root := t.TempDir()
	m := volume.New(root)
	n := &render.Node{PodsDir: filepath.Join(root, "pods")}
	if err := m.CreatePod("u1"); err != nil {
		t.Fatal(err)
	}
	hosts, err := m.WriteFile("u1", volume.HostsName, nil, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	log, err := m.TerminationLog("u1", "c")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{n.Dir("u1"), n.HostsFile("u1"), n.ContainerDir("u1", "c")}
	if diff := cmp.Diff(want, []string{m.Dir("u1"), hosts, filepath.Dir(log)}); diff != "" {
		t.Errorf("render names (-) what volume makes (+):\n%s", diff)
	}
}
