package lifecycle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

func runtimePod(uid, name, owner string, state pod.State) *pod.Pod {
	return &pod.Pod{UID: types.UID(uid), Name: name, Namespace: "default",
		Sandboxes: []*pod.Sandbox{{ID: "s-" + uid, State: state, Owner: owner, HasManifest: owner != ""}}}
}

func ofWorkload(workload string, p *pod.Pod) *pod.Pod {
	p.Sandboxes[0].Workload = workload
	return p
}

func wanted(uid, name string) Desired {
	return Desired{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: name, Namespace: "default"}}}
}

func TestLookAdoptsStopsOrLeavesWhatTheRuntimeHolds(t *testing.T) {
	const me = "run-me"
	for _, c := range []struct {
		name              string
		held              *pod.Pod
		known             bool
		adopt, stop, fore []string
	}{
		{name: "the same manifest of a dead podctl is adopted", held: runtimePod("u1", "web", "run-dead", pod.Running), adopt: []string{"u1"}},
		{name: "and so is one that has ended", held: runtimePod("u1", "web", "run-dead", pod.Exited), adopt: []string{"u1"}},
		{name: "an older manifest of a desired name is stopped", held: runtimePod("u0", "web", "run-dead", pod.Running), stop: []string{"u0"}},
		{name: "its own that is not desired is stopped", held: runtimePod("u9", "old", me, pod.Running), stop: []string{"u9"}},
		{name: "another's that is not desired is left alone", held: runtimePod("u9", "old", "run-dead", pod.Running)},
		{name: "a foreign running pod of a desired name keeps it waiting", held: runtimePod("k1", "web", "", pod.Running), fore: []string{"u1"}},
		{name: "and so does one of a desired uid", held: runtimePod("u1", "other", "", pod.Running), fore: []string{"u1"}},
		{name: "also if it has a separate UID by now", held: kubelets("u1", "other").Separate(), fore: []string{"u1"}},
		{name: "a bare pod of a desired uid does not", held: bare("u1", "other"), fore: nil},
		{name: "a foreign dead one does not", held: runtimePod("k1", "web", "", pod.Exited)},
		{name: "a foreign pod of another name is left alone", held: runtimePod("k1", "other", "", pod.Running)},
		{name: "what a worker knows is not looked at", held: runtimePod("u1", "web", me, pod.Running), known: true},
		{name: "a surplus pod of a desired workload is stopped", held: ofWorkload("Deployment/default/w", runtimePod("w2", "w-2", "run-dead", pod.Running)), stop: []string{"w2"}},
		{name: "one of another workload is left alone", held: ofWorkload("Deployment/default/x", runtimePod("x2", "x-2", "run-dead", pod.Running))},
	} {
		desired := map[types.UID]Desired{"u1": wanted("u1", "web"), "w1": wanted("w1", "w-1")}
		w1 := desired["w1"]
		w1.Workload = "Deployment/default/w"
		desired["w1"] = w1
		got := Classify([]*pod.Pod{c.held}, func(types.UID) bool { return c.known }, desired, me)
		var fore []string
		for uid := range got.Foreign {
			fore = append(fore, string(uid))
		}
		if diff := cmp.Diff([][]string{c.adopt, c.stop, c.fore}, [][]string{uids(got.Adopt), uids(got.Stop), fore}); diff != "" {
			t.Errorf("%s (adopt, stop, foreign):\n%s", c.name, diff)
		}
	}
}

// A pod that runs already goes on beside a foreign pod of its UID or name.
func TestAdoptedPodDoesNotWaitForAForeignPod(t *testing.T) {
	for name, foreign := range map[string]*pod.Pod{
		"of its UID":  kubelets("u1", "other").Separate(),
		"of its name": runtimePod("k1", "web", "", pod.Running),
	} {
		for i, held := range [][]*pod.Pod{{runtimePod("u1", "web", "run-dead", pod.Running), foreign}, {foreign, runtimePod("u1", "web", "run-dead", pod.Exited)}} {
			got := Classify(held, func(types.UID) bool { return false }, map[types.UID]Desired{"u1": wanted("u1", "web")}, "run-me")
			if why, against := got.DeferReason(wanted("u1", "web")); against || !slices.Equal(uids(got.Adopt), []string{"u1"}) {
				t.Errorf("%s, %d: adopts %q, waits: %v", name, i, uids(got.Adopt), why)
			}
		}
	}
}

func kubelets(uid, name string) *pod.Pod {
	p := runtimePod(uid, name, "", pod.Running)
	p.Sandboxes[0].Source = "api"
	return p
}

func bare(uid, name string) *pod.Pod {
	p := runtimePod(string(pod.BareUID(types.UID(uid), "default", name)), name, "", pod.Running)
	p.SharedUID = types.UID(uid)
	return p
}

func uids(pods []*pod.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, string(p.UID))
	}
	return all
}

// A kubelet that is stopped, starting or not visible finds its pods as it left them.
func TestPodsOfAKubeletAreNotUnknown(t *testing.T) {
	theirs, foreign := runtimePod("k1", "theirs", "", pod.Running), runtimePod("f1", "foreign", "", pod.Running)
	theirs.Sandboxes[0].Source = "api"
	labelled, other := runtimePod("k2", "labelled", "", pod.Running), runtimePod("p1", "other", "run-5f2a", pod.Running)
	for _, p := range []*pod.Pod{labelled, other} {
		p.Sandboxes[0].Labels = map[string]string{pod.UIDLabel: string(p.UID)}
	}
	unlisted := runtimePod("k3", "unlisted", "", pod.Running) // its sandbox is not listed
	unlisted.Sandboxes, unlisted.Containers = nil, []*pod.Container{{ID: "c-k3", Name: "c", State: pod.Running}}
	unknown := UnknownPods([]*pod.Pod{theirs, labelled, foreign, other, unlisted}, func(types.UID) bool { return false }, nil, "agent")
	if got := uids(unknown); !slices.Equal(got, []string{"f1", "p1"}) {
		t.Errorf("unknown pods: %q", got)
	}
}
