package node

import (
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

func wanted(uid, name string) Desired {
	return Desired{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: name, Namespace: "default"}}}
}

func TestSortOut(t *testing.T) {
	const me = "run-me"
	for _, c := range []struct {
		name             string
		held             *pod.Pod
		known            bool
		adopt, end, fore []string
	}{
		{name: "the same manifest of a dead podctl is adopted", held: runtimePod("u1", "web", "run-dead", pod.Running), adopt: []string{"u1"}},
		{name: "and so is one that has ended", held: runtimePod("u1", "web", "run-dead", pod.Exited), adopt: []string{"u1"}},
		{name: "an older manifest of a wanted name is ended", held: runtimePod("u0", "web", "run-dead", pod.Running), end: []string{"u0"}},
		{name: "one's own that nobody wants is ended", held: runtimePod("u9", "old", me, pod.Running), end: []string{"u9"}},
		{name: "another's that nobody wants is left alone", held: runtimePod("u9", "old", "run-dead", pod.Running)},
		{name: "a foreign running pod of a wanted name stands in the way", held: runtimePod("k1", "web", "", pod.Running), fore: []string{"u1"}},
		{name: "and so does one of a wanted uid", held: runtimePod("u1", "other", "", pod.Running), fore: []string{"u1"}},
		{name: "a foreign dead one does not", held: runtimePod("k1", "web", "", pod.Exited)},
		{name: "a foreign pod of another name is none of our business", held: runtimePod("k1", "other", "", pod.Running)},
		{name: "what a worker knows is not looked at", held: runtimePod("u1", "web", me, pod.Running), known: true},
	} {
		got := sortOut([]*pod.Pod{c.held}, func(types.UID) bool { return c.known }, map[types.UID]Desired{"u1": wanted("u1", "web")}, me)
		var fore []string
		for uid := range got.foreign {
			fore = append(fore, string(uid))
		}
		if diff := cmp.Diff([][]string{c.adopt, c.end, c.fore}, [][]string{uids(got.adopt), uids(got.end), fore}); diff != "" {
			t.Errorf("%s (adopt, end, foreign):\n%s", c.name, diff)
		}
	}
}

func uids(pods []*pod.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, string(p.UID))
	}
	return all
}

func TestUnionIsUnreadyUntilEverySourceWasRead(t *testing.T) {
	d := newDesired([]string{"a", "b"})
	d.set("a", []Desired{wanted("u1", "web")}, nil, false)
	if _, ready := d.union(); ready {
		t.Error("ready although b was never read")
	}
	d.set("b", nil, nil, false)
	pods, ready := d.union()
	if !ready || len(pods) != 1 {
		t.Errorf("after an empty read of b: %v %v", pods, ready)
	}
	d.set("b", []Desired{wanted("u2", "web"), wanted("u3", "db")}, nil, false)
	pods, _ = d.union()
	if _, taken := pods["u2"]; taken || len(pods) != 2 {
		t.Errorf("two pods of one full name: %v", pods)
	}
}
