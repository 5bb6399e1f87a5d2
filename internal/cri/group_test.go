package cri

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// bareSandbox is what a runtime lists after crictl runp.
func bareSandbox(id, name string, attempt uint32) *runtimeapi.PodSandbox {
	return &runtimeapi.PodSandbox{Id: id, Metadata: &runtimeapi.PodSandboxMetadata{
		Name: name, Namespace: "default", Uid: "hdishd83djaidwnduwk28bcsb", Attempt: attempt,
	}}
}

// contents returns the ids in each pod, by name, and its UID.
func contents(sandboxes []*runtimeapi.PodSandbox, containers []*runtimeapi.Container) (ids map[string]string, uids map[string]types.UID) {
	ids, uids = map[string]string{}, map[string]types.UID{}
	pods, _ := groupPods(convertAll(sandboxes, toSandboxEntry), convertAll(containers, toContainerEntry), nil)
	for _, p := range pods {
		var all []string
		for _, s := range p.Sandboxes {
			all = append(all, s.ID)
		}
		for _, c := range p.Containers {
			all = append(all, c.ID)
		}
		slices.Sort(all)
		ids[p.Name] += strings.Join(all, " ")
		uids[p.Name] = p.UID
	}
	return ids, uids
}

func TestBarePodsWithOneUIDAreTwoPods(t *testing.T) {
	sandboxes := []*runtimeapi.PodSandbox{bareSandbox("a0", "a", 0), bareSandbox("a1", "a", 1), bareSandbox("b0", "b", 0)}
	uid := sandboxes[0].Metadata.Uid
	of := func(id, sandbox string, labels map[string]string) *runtimeapi.Container {
		return &runtimeapi.Container{Id: id, PodSandboxId: sandbox, Labels: labels}
	}
	debugger := map[string]string{pod.UIDLabel: uid}
	containers := []*runtimeapi.Container{of("in-a0", "a0", nil), of("debugs-a1", "a1", debugger), of("in-b0", "b0", nil), of("debugs-b0", "b0", debugger)}
	kubelets := bareSandbox("k0", "kubelet's", 0)
	kubelets.Labels = map[string]string{pod.UIDLabel: uid, pod.NameLabel: "kubelet's", pod.NamespaceLabel: "default"}
	want := map[string]string{"a": "a0 a1 debugs-a1 in-a0", "b": "b0 debugs-b0 in-b0"}
	got, uids := contents(sandboxes, containers)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	slices.Reverse(sandboxes)
	slices.Reverse(containers)
	if got, reversed := contents(sandboxes, containers); !maps.Equal(want, got) || !maps.Equal(uids, reversed) {
		t.Errorf("in the reverse order: %v, UIDs %v, not %v", got, reversed, uids)
	}
	if got, alone := contents(sandboxes[:1], containers[:2]); got["b"] != want["b"] || alone["b"] != uids["b"] {
		t.Errorf("without the other pod: %v, UIDs %v, not %v", got, alone, uids)
	}
	want["kubelet's"] = "in-k0 k0"
	got, uids = contents(append(sandboxes, kubelets), append(containers, of("in-k0", "k0", debugger)))
	if d := cmp.Diff(want, got); d != "" || uids["kubelet's"] != types.UID(uid) {
		t.Errorf("beside a pod of a kubelet: UIDs %v\n%s", uids, d)
	}
	if got := toNotice(&runtimeapi.ContainerEventResponse{PodSandboxStatus: &runtimeapi.PodSandboxStatus{Id: "b0", Metadata: bareSandbox("", "b", 0).Metadata}}, false); got.PodUID != uids["b"] {
		t.Errorf("an event is of pod %q", got.PodUID)
	}
}

// TestBareUIDsDiffer: no two identities of bare pods make one UID.
func TestBareUIDsDiffer(t *testing.T) {
	parts := []string{"", "a", "a_b", "_", "b_", "_a", "a/b", "%5F", "a%2Fb"}
	seen := map[types.UID]string{}
	for _, uid := range parts[1:] {
		for _, namespace := range parts {
			for _, name := range parts {
				who := fmt.Sprintf("%q", []string{uid, namespace, name})
				got := toSandboxEntry(&runtimeapi.PodSandbox{Id: "s", Metadata: &runtimeapi.PodSandboxMetadata{Uid: uid, Namespace: namespace, Name: name}}).uid
				if other := seen[got]; other != "" {
					t.Errorf("%s and %s are both %q", other, who, got)
				}
				seen[got] = who
			}
		}
	}
}

// FuzzGroupPods: whatever a runtime lists, each sandbox is in one pod, each
// container in one at most, no two pods have one UID, and none has what podctl created
// together with what it did not create. For a node, no foreign pod has a UID that podctl
// gives.
func FuzzGroupPods(f *testing.F) {
	f.Add("ab", "uv", "ab", int64(1))
	f.Add("dnxd", "ddd", "ddnx", int64(1))
	f.Fuzz(func(t *testing.T, labels, metadata, containers string, at int64) {
		var sandboxes []*runtimeapi.PodSandbox
		for i, l := range labels {
			s := &runtimeapi.PodSandbox{Id: fmt.Sprintf("s%d", i), CreatedAt: at * int64(i)}
			if l%2 == 0 {
				s.Labels = map[string]string{pod.UIDLabel: string(l)}
			}
			if i%2 == 0 {
				s.Annotations = map[string]string{pod.OwnerAnnotation: "agent"}
			}
			if i%4 == 0 && l%3 == 0 {
				s.Annotations[pod.ConfigSourceAnnotation] = "api"
			}
			if i < len(metadata) {
				s.Metadata = &runtimeapi.PodSandboxMetadata{Uid: metadata[i : i+1]}
			}
			sandboxes = append(sandboxes, s)
		}
		var cs []*runtimeapi.Container
		for i, l := range containers {
			c := &runtimeapi.Container{Id: string(rune(i)), CreatedAt: at}
			if l%3 == 0 {
				c.Labels = map[string]string{pod.UIDLabel: string(l)}
			}
			if len(sandboxes) > 0 {
				c.PodSandboxId = sandboxes[i%len(sandboxes)].Id
			}
			cs = append(cs, c)
		}
		for _, own := range []*ownSandboxes{nil, newOwnSandboxes()} {
			checkGroups(t, convertAll(sandboxes, toSandboxEntry), convertAll(cs, toContainerEntry), own)
		}
	})
}

func checkGroups(t *testing.T, sandboxes []sandboxEntry, containers []containerEntry, own *ownSandboxes) {
	byID := map[string]*pod.Sandbox{}
	given := map[types.UID]bool{} // by podctl
	for _, s := range sandboxes {
		byID[s.ID] = s.Sandbox
		given[s.uid] = given[s.uid] || s.Owner != ""
	}
	seen := map[types.UID]bool{}
	nsandboxes, ncontainers := 0, 0
	pods, strays := groupAll(sandboxes, containers, own)
	for _, p := range pods {
		if seen[p.UID] || p.UID == "" {
			t.Errorf("UID %q twice, or empty", p.UID)
		}
		seen[p.UID] = true
		nsandboxes += len(p.Sandboxes)
		ncontainers += len(p.Containers)
		kinds := map[bool]bool{}
		for i, s := range p.Sandboxes {
			kinds[s.Owner != ""] = true
			if i > 0 && s.CreatedAt.After(p.Sandboxes[i-1].CreatedAt) {
				t.Error("sandboxes are not newest first")
			}
		}
		for _, c := range p.Containers {
			if s := byID[c.SandboxID]; s != nil && len(p.Sandboxes) > 0 {
				kinds[s.Owner != ""] = true
			}
		}
		if len(kinds) == 2 && given[p.UID] {
			t.Errorf("pod %s has what podctl created and what it did not create: %+v", p.UID, p)
		}
		if own != nil && kinds[false] && given[p.UID] {
			t.Errorf("a foreign pod has the UID %s for a node", p.UID)
		}
	}
	if nsandboxes != len(sandboxes) || ncontainers+len(strays) != len(containers) {
		t.Errorf("%d of %d sandboxes, %d and %d of %d containers", nsandboxes, len(sandboxes), ncontainers, len(strays), len(containers))
	}
}
