package cri

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// listedSandbox is a sandbox with the labels of a kubelet, or of podctl.
func listedSandbox(id, name, uid string, annotations map[string]string) *runtimeapi.PodSandbox {
	return &runtimeapi.PodSandbox{
		Id: id, Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: uid}, Annotations: annotations,
		Labels: map[string]string{pod.UIDLabel: uid, pod.NameLabel: name, pod.NamespaceLabel: "default"},
	}
}

// listedContainer has the label of the pod u.
func listedContainer(id, sandbox, name string) *runtimeapi.Container {
	return &runtimeapi.Container{Id: id, PodSandboxId: sandbox, Labels: map[string]string{
		pod.UIDLabel: "u", pod.NameLabel: name, pod.NamespaceLabel: "default",
	}}
}

// The annotations of what podctl creates; of what a kubelet creates; and of what a
// kubelet creates for a user who copied podctl's.
var (
	byPodctl  = map[string]string{pod.OwnerAnnotation: "agent"}
	byKubelet = map[string]string{pod.ConfigSourceAnnotation: "api"}
	forged    = map[string]string{pod.ConfigSourceAnnotation: "api", pod.OwnerAnnotation: "agent", pod.ManifestAnnotation: "packed"}
)

// described is each pod as "uid shared: ids", by name.
func described(pods []*pod.Pod) map[string]string {
	got := map[string]string{}
	for _, p := range pods {
		text := fmt.Sprintf("%s %s:", p.UID, p.SharedUID)
		for _, s := range p.Sandboxes {
			text += " " + s.ID
		}
		for _, c := range p.Containers {
			text += " " + c.ID
		}
		got[p.Name] = strings.TrimPrefix(got[p.Name]+" | "+text, " | ")
	}
	return got
}

// What podctl did not create is never in one pod with what it did.
func TestPodsOfOthersAreSeparateFromPodctls(t *testing.T) {
	own := listedSandbox("s", "web", "u", byPodctl)
	ownContainer := listedContainer("c", "s", "web")
	for _, tc := range []struct {
		name       string
		sandboxes  []*runtimeapi.PodSandbox
		containers []*runtimeapi.Container
		want       map[string]string // as a command sees it
		node       map[string]string // as a node does; nil is the same
	}{
		{
			"labels of a kubelet",
			[]*runtimeapi.PodSandbox{own, listedSandbox("f", "other", "u", nil)},
			[]*runtimeapi.Container{ownContainer, listedContainer("d", "f", "other")},
			map[string]string{"web": "u : s c", "other": "u+default_other u: f d"}, nil,
		},
		{
			"annotation of a kubelet",
			[]*runtimeapi.PodSandbox{listedSandbox("f", "other", "u", byKubelet), own},
			[]*runtimeapi.Container{listedContainer("d", "f", "other"), ownContainer},
			map[string]string{"web": "u : s c", "other": "u+default_other u: f d"}, nil,
		},
		{
			"copied annotations of podctl's",
			[]*runtimeapi.PodSandbox{own, listedSandbox("f", "other", "u", forged)},
			[]*runtimeapi.Container{ownContainer, listedContainer("d", "f", "other")},
			map[string]string{"web": "u : s c", "other": "u+default_other u: f d"}, nil,
		},
		{
			"one name, too",
			[]*runtimeapi.PodSandbox{own, listedSandbox("f", "web", "u", byKubelet)},
			[]*runtimeapi.Container{ownContainer, listedContainer("d", "f", "web")},
			map[string]string{"web": "u : s c | u+default_web u: f d"}, nil,
		},
		{
			"by hand and by a kubelet, under one name",
			[]*runtimeapi.PodSandbox{own, listedSandbox("f", "other", "u", byKubelet), {Id: "g", Metadata: listedSandbox("", "other", "u", nil).Metadata}},
			[]*runtimeapi.Container{ownContainer},
			map[string]string{"web": "u : s c", "other": "u+default_other u: f | u_default_other u: g"}, nil,
		},
		{
			"a container with the label in the sandbox of another pod",
			[]*runtimeapi.PodSandbox{own, listedSandbox("f", "other", "v", byKubelet)},
			[]*runtimeapi.Container{ownContainer, listedContainer("d", "f", "web")},
			map[string]string{"web": "u : s c", "other": "v : f d"},
			map[string]string{"web": "u : s c", "other": "v+default_other v: f d"},
		},
		{
			"a container with the label in a sandbox that was made by hand",
			[]*runtimeapi.PodSandbox{own, {Id: "g", Metadata: listedSandbox("", "other", "v", nil).Metadata}},
			[]*runtimeapi.Container{ownContainer, listedContainer("d", "g", "web")},
			map[string]string{"web": "u : s c", "other": "v_default_other v: g d"}, nil,
		},
		{
			"a container with the label in no sandbox",
			[]*runtimeapi.PodSandbox{own},
			[]*runtimeapi.Container{ownContainer, listedContainer("d", "gone", "other")},
			map[string]string{"web": "u : s c", "other": "u+default_other u: d"}, nil,
		},
		{
			"podctl's is gone",
			[]*runtimeapi.PodSandbox{listedSandbox("f", "other", "u", byKubelet)},
			[]*runtimeapi.Container{listedContainer("d", "f", "other")},
			map[string]string{"other": "u : f d"},
			map[string]string{"other": "u+default_other u: f d"},
		},
		{
			"podctl's is gone, and what a user copied stays",
			[]*runtimeapi.PodSandbox{listedSandbox("f", "other", "u", forged)},
			[]*runtimeapi.Container{listedContainer("d", "f", "other")},
			map[string]string{"other": "u : f d"},
			map[string]string{"other": "u+default_other u: f d"},
		},
		{
			"without a UID",
			[]*runtimeapi.PodSandbox{own, {Id: "g", Metadata: &runtimeapi.PodSandboxMetadata{Name: "other"}}},
			[]*runtimeapi.Container{ownContainer, {Id: "d", PodSandboxId: "g"}},
			map[string]string{"web": "u : s c", "other": "g : g d"}, nil,
		},
		{
			"two podctls",
			[]*runtimeapi.PodSandbox{own, listedSandbox("t", "web", "u", map[string]string{pod.OwnerAnnotation: "run-1"})},
			[]*runtimeapi.Container{ownContainer, listedContainer("d", "t", "web")},
			map[string]string{"web": "u : s t c d"}, nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			group := func(own *ownSandboxes) map[string]string {
				pods, _ := groupAll(convertAll(tc.sandboxes, toSandboxEntry), convertAll(tc.containers, toContainerEntry), own)
				return described(pods)
			}
			if d := cmp.Diff(tc.want, group(nil)); d != "" {
				t.Errorf("a command sees %s", d)
			}
			if tc.node == nil {
				tc.node = tc.want
			}
			if d := cmp.Diff(tc.node, group(newOwnSandboxes())); d != "" {
				t.Errorf("a node sees %s", d)
			}
		})
	}
}

// A node knows the containers of its own sandboxes, also after a runtime has lost those.
func TestContainersOfALostSandboxArePodctls(t *testing.T) {
	own, c := listedSandbox("s", "web", "u", byPodctl), listedContainer("c", "s", "web")
	seen := newOwnSandboxes()
	group := func(sandboxes []*runtimeapi.PodSandbox, containers ...*runtimeapi.Container) map[string]string {
		pods, _ := groupAll(convertAll(sandboxes, toSandboxEntry), convertAll(containers, toContainerEntry), seen)
		return described(pods)
	}
	group([]*runtimeapi.PodSandbox{own}, c)
	for range 3 * keptLists {
		if d := cmp.Diff(map[string]string{"web": "u : c"}, group(nil, c)); d != "" {
			t.Fatal(d)
		}
	}
	for range 3 * keptLists {
		group(nil)
	}
	if seen.has("s") {
		t.Error("a sandbox that is gone with its containers is remembered for ever")
	}
	seen.created("new")
	if d := cmp.Diff(map[string]string{"web": "u : d"}, group(nil, listedContainer("d", "new", "web"))); d != "" {
		t.Errorf("a sandbox that no list has shown yet: %s", d)
	}
}

// A separate UID names its pod in whichever way the runtime is looked at, and no other.
func TestListPodOfASeparateUID(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		ctx := t.Context()
		run := func(name string, annotations map[string]string) {
			cfg := sandboxConfig(name, 0)
			cfg.Metadata.Uid, cfg.Labels[pod.UIDLabel], cfg.Annotations = "u", "u", annotations
			sb := must(t)(c.RunPodSandbox(ctx, cfg, ""))
			ct := containerConfig(name, "c", 0)
			ct.Labels[pod.UIDLabel] = "u"
			must(t)(c.CreateContainer(ctx, sb, ct, cfg))
		}
		run("other", forged)
		node := c.ForNode()
		agree := func(c *Client, uids ...types.UID) {
			t.Helper()
			pods, err := c.ListPods(ctx)
			if err != nil || len(pods) != len(uids) {
				t.Fatalf("%v, %v, want %v", described(pods), err, uids)
			}
			for i, uid := range uids { // newest first
				one, err := c.ListPod(ctx, uid)
				if d := cmp.Diff(pods[i], one); d != "" || err != nil {
					t.Errorf("%s: %v\n%s", uid, err, d)
				}
			}
		}
		agree(c, "u")
		agree(node, "u+default_other")
		if p, err := node.ListPod(ctx, "u"); p != nil || err != nil {
			t.Errorf("the node has a pod %v, %v", p, err)
		}
		if p, err := c.ListPod(ctx, "u+default_other"); err != nil || p == nil || p.UID != "u+default_other" || len(p.Containers) != 1 {
			t.Errorf("separate where it need not be: %+v, %v", p, err)
		}
		time.Sleep(time.Second)
		run("web", byPodctl)
		agree(c, "u", "u+default_other")
		agree(node, "u", "u+default_other")
	})
}

// Events of a foreign sandbox are not of the node's pod.
func TestHintsOfForeignSandboxesAreNotOfThePod(t *testing.T) {
	event := func(annotations map[string]string) *runtimeapi.ContainerEventResponse {
		s := listedSandbox("f", "other", "u", annotations)
		return &runtimeapi.ContainerEventResponse{PodSandboxStatus: &runtimeapi.PodSandboxStatus{
			Id: s.Id, Metadata: s.Metadata, Labels: s.Labels, Annotations: s.Annotations,
		}}
	}
	for _, tc := range []struct {
		annotations   map[string]string
		command, node types.UID
	}{{byPodctl, "u", "u"}, {byKubelet, "u", "u+default_other"}, {forged, "u", "u+default_other"}, {nil, "u", "u+default_other"}} {
		if got := toNotice(event(tc.annotations), false).PodUID; got != tc.command {
			t.Errorf("%v: a command takes it for %s", tc.annotations, got)
		}
		if got := toNotice(event(tc.annotations), true).PodUID; got != tc.node {
			t.Errorf("%v: a node takes it for %s", tc.annotations, got)
		}
	}
}
