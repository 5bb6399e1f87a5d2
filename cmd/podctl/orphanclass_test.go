package main

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/pod"
)

func wantedOne(name, uid string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid)}}
}

func orphanExamples() orphanFacts {
	agent := &control.Client{}
	noSandbox := listed("loose", "", pod.Running, pod.Running)
	noSandbox.Sandboxes, noSandbox.Containers[0].CreatedAt = nil, lunch.Add(-time.Hour)
	return orphanFacts{
		held: mergePods([]*pod.Pod{
			listed("bare", "", pod.Running, pod.Running),
			listed("old", "run-dead", pod.Running, pod.Running, pod.Exited),
			listed("kept", "run-gone", pod.Running, pod.Running),
			listed("left", "agent", pod.Running, pod.Running),
			noSandbox,
			listed("stopped", "run-dead", pod.Exited, pod.Exited),
			listed("taken", "", pod.Running),
			listed("wanted", "", pod.Running, pod.Running),
			listed("static-node", "", pod.Running, pod.Running),
			listed("filed", "", pod.Running, pod.Running),
			listed("filed-before", "run-dead", pod.Running, pod.Running),
			listed("alive", "run-alive", pod.Running, pod.Running),
			listed("managed", "run-dead", pod.Running, pod.Running), // and taken over
		}, []liveWorkers{{client: agent, workers: []control.Worker{{Namespace: "default", Name: "managed", UID: "uid-managed", Phase: "syncing"}}}},
			func(h *heldPod) bool { return h.creator == "run-alive" }),
		answers: []desired.Answer{
			{Source: "kubelet", Pods: []*v1.Pod{wantedOne("wanted", "uid-wanted"), wantedOne("taken", "uid-new"), wantedOne("begins", "uid-begins")}},
			{Source: "/manifests", ByName: true, Pods: []*v1.Pod{wantedOne("static-node", "")}},
			{Source: "a.yaml", Pods: []*v1.Pod{wantedOne("filed", "uid-hash"), wantedOne("filed-before", "uid-hash2")}, MadeUp: map[types.UID]bool{"uid-hash": true, "uid-hash2": true}},
		},
		dirs: []podDir{
			{uid: "uid-old", path: "/pods/uid-old"},
			{uid: "uid-begins", path: "/pods/uid-begins"},
			{uid: "uid-static", path: "/pods/uid-static", namespace: "default", name: "static-node"},
			{uid: "uid-elsewhere", path: "/pods/uid-elsewhere", keep: "it is of another runtime"},
			{uid: "uid-dir", path: "/pods/uid-dir", changed: lunch.Add(-time.Minute)},
			{uid: "uid-mounted", path: "/pods/uid-mounted", namespace: "kube", name: "db", instance: "run-dead", changed: lunch.Add(-time.Minute), mounts: []string{"/pods/uid-mounted/volumes/x"}},
		},
		ended: map[string]time.Time{"run-dead": lunch.Add(-72 * time.Hour)},
	}
}

func TestOrphansAreWhatNobodyWants(t *testing.T) {
	var out bytes.Buffer
	if err := (output.Format{}).Print(&out, orphanListing(orphans(orphanExamples()), lunch)); err != nil {
		t.Fatal(err)
	}
	const want = `
POD                   CLASS          AGE    CONTAINERS      OWNER                   WHY
default/bare          runtime-only   1m30s  1 running       unknown                 no desired state names it
default/filed-before  name-reserved  1m30s  1 running       run-dead, ended 3d ago  a.yaml wants its name for another pod, uid-hash2
default/kept          abandoned      1m30s  1 running       run-gone, ended         its podctl is gone: killed, or run --keep left it on purpose
default/left          abandoned      1m30s  1 running       agent, ended            its agent is gone: one that starts again adopts it
default/loose         no-sandbox     1h     1 running       unknown                 no desired state names it, and its sandbox is gone
default/old           abandoned      1m30s  1 of 2 running  run-dead, ended 3d ago  its podctl was killed
default/stopped       not-ready      1m30s  1 ended         run-dead, ended 3d ago  no desired state names it, and nothing of it runs
default/taken         name-reserved  1m30s  -               unknown                 kubelet wants its name for another pod, uid-new
uid-dir               directory      1m     -               unknown                 the runtime holds no pod of it
kube/db               directory      1m     -               run-dead, ended 3d ago  the runtime holds no pod of it; mounted in it: volumes/x
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestDirectoriesAreNoOrphansWhileSomebodyMayHaveThem(t *testing.T) {
	f := orphanExamples()
	f.dirsUnknown = "a podctl does not answer"
	for _, o := range orphans(f) {
		if o.dir != nil {
			t.Errorf("named %s", o.dir.path)
		}
	}
}

// However a node is made up: nothing that is desired, or of a living podctl, is
// an orphan, and everything else is, once, with the class that it was planted
// with.
func TestEveryPlantedOrphanIsNamedOnceAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := orphanFacts{ended: map[string]time.Time{}}
		var listedPods []*pod.Pod
		answers := make([]desired.Answer, 4)
		for i := range answers {
			answers[i].Source = fmt.Sprint("source ", i)
		}
		answers[1].ByName = true
		answers[3].Err = fmt.Errorf("it does not answer")
		living := liveWorkers{client: &control.Client{}}
		want := map[types.UID]orphanClass{}
		for n := range rapid.IntRange(0, 12).Draw(t, "pods") {
			name := fmt.Sprintf("p%d", n)
			uid := types.UID("uid-" + name)
			creator := rapid.SampledFrom([]string{"", "run-dead", "run-alive"}).Draw(t, "creator")
			state := rapid.SampledFrom([]pod.State{pod.Running, pod.Exited}).Draw(t, "sandbox")
			p := listed(name, creator, state, slices.Repeat([]pod.State{state}, rapid.IntRange(1, 3).Draw(t, "containers"))...)
			class := classRuntimeOnly
			switch {
			case creator == "" && rapid.Bool().Draw(t, "without a sandbox"):
				p.Sandboxes, class = nil, classNoSandbox
			case state == pod.Exited:
				class = classNotReady
			case creator != "":
				class = classAbandoned
			}
			safe := creator == "run-alive"
			switch rapid.IntRange(0, 5).Draw(t, "role") {
			case 0:
				answers[0].Pods, safe = append(answers[0].Pods, wantedOne(name, string(uid))), true
			case 1:
				answers[1].Pods, safe = append(answers[1].Pods, wantedOne(name, "")), true
			case 2:
				living.workers, safe = append(living.workers, control.Worker{Namespace: "default", Name: name, UID: uid}), true
			case 3:
				answers[2].Pods, class = append(answers[2].Pods, wantedOne(name, "another-"+name)), classNameReserved
			}
			listedPods = append(listedPods, p)
			if !safe {
				want[uid] = class
			}
			if rapid.Bool().Draw(t, "has a directory") {
				f.dirs = append(f.dirs, podDir{uid: uid})
			}
		}
		for n := range rapid.IntRange(0, 5).Draw(t, "directories") {
			d := podDir{uid: types.UID(fmt.Sprintf("dir-%d", n))}
			switch rapid.IntRange(0, 3).Draw(t, "whose") {
			case 0:
				d.keep = "it is in use"
			case 1:
				answers[0].Pods = append(answers[0].Pods, wantedOne("of-"+string(d.uid), string(d.uid)))
			case 2:
				living.workers = append(living.workers, control.Worker{Namespace: "default", Name: "of-" + string(d.uid), UID: d.uid})
			default:
				want[d.uid] = classDirectory
			}
			f.dirs = append(f.dirs, d)
		}
		f.answers = answers
		f.held = mergePods(listedPods, []liveWorkers{living}, func(h *heldPod) bool { return h.creator == "run-alive" })
		for _, o := range orphans(f) {
			class, planted := want[o.uid]
			switch {
			case !planted:
				t.Fatalf("named %s as %s: %s", o.uid, o.class, o.why)
			case class != o.class:
				t.Fatalf("named %s as %s, want %s", o.uid, o.class, class)
			case o.why == "":
				t.Fatalf("%s: nobody says why", o.uid)
			}
			delete(want, o.uid) // the second time it was not planted
		}
		if len(want) > 0 {
			t.Fatalf("not named: %v", want)
		}
	})
}

func TestAPartOfADirectoryThatIsMountedElsewhereIsInUse(t *testing.T) {
	for _, c := range []struct {
		table string
		want  bool
	}{
		{"36 35 98:0 /var/lib/podctl/pods/u1/etc-hosts /etc/hosts rw - ext4 /dev/x rw\n", true},
		{"36 35 98:0 /pods/u1 /run/x rw - ext4 /dev/x rw\n", true},
		{"36 35 98:0 / /var/lib/podctl/pods/u1/volumes/x rw - tmpfs tmpfs rw\n", false},
		{"36 35 98:0 /pods/u1/volumes/a /var/lib/podctl/pods/u1/volume-subpaths/a rw - ext4 /dev/x rw\n", false},
		{"36 35 98:0 /pods/u11/volumes/a /a rw - ext4 /dev/x rw\n", false},
		{"36\n", false},
	} {
		if got := usedElsewhere([]string{"", c.table}, "u1"); got != c.want {
			t.Errorf("%q: %v", c.table, got)
		}
	}
}
