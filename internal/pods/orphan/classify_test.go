package orphan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/testkit/testutil"
)

// lunch is the present of the tests, listed a pod as a runtime lists it.
var (
	lunch  = testutil.Noon
	listed = testutil.ListedPod
)

func wantedOne(name, uid string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid)}}
}

// alive is a live podctl process that answered with its pods.
func alive(name string, pods ...control.Worker) owners.Process {
	p := owners.Process{Process: control.Process{Name: name}, Settled: true, Workers: map[types.UID]control.Worker{}}
	for _, w := range pods {
		p.Workers[w.UID] = w
	}
	return p
}

// factsOf are the facts of pods that a runtime lists.
func factsOf(pods []*pod.Pod, answers *owners.Answers) Facts {
	return Facts{Answers: answers, Pods: view.Merge(pods, answers)}
}

// source is a source that answered.
func source(a sources.Answer) owners.Source { return owners.Source{Answer: a} }

func orphanExamples() Facts {
	noSandbox := listed("loose", "", pod.Running, pod.Running)
	noSandbox.Sandboxes, noSandbox.Containers[0].CreatedAt = nil, lunch.Add(-time.Hour)
	f := factsOf([]*pod.Pod{
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
	}, &owners.Answers{
		Processes: []owners.Process{
			alive("agent-2", control.Worker{Namespace: "default", Name: "managed", UID: "uid-managed", Phase: "syncing"}), alive("run-alive"),
		},
		Kubelet: owners.Kubelet{Answer: kubelet.Answer{Source: "kubelet", Pods: []*v1.Pod{wantedOne("wanted", "uid-wanted"), wantedOne("taken", "uid-new"), wantedOne("begins", "uid-begins")}}},
		Sources: []owners.Source{
			source(sources.Answer{Source: "/manifests", ByName: true, Pods: []*v1.Pod{wantedOne("static-node", "")}}),
			source(sources.Answer{Source: "a.yaml", Pods: []*v1.Pod{wantedOne("filed", "uid-hash"), wantedOne("filed-before", "uid-hash2")}, MadeUp: map[types.UID]bool{"uid-hash": true, "uid-hash2": true}}),
		},
		Exited: map[string]owner.Exit{"run-dead": {At: lunch.Add(-72 * time.Hour)}},
	})
	f.Dirs = []Dir{
		{UID: "uid-old", Path: "/pods/uid-old"},
		{UID: "uid-begins", Path: "/pods/uid-begins"},
		{UID: "uid-static", Path: "/pods/uid-static", Namespace: "default", Name: "static-node"},
		{UID: "uid-elsewhere", Path: "/pods/uid-elsewhere", Keep: "it is of another runtime"},
		{UID: "uid-dir", Path: "/pods/uid-dir", Changed: lunch.Add(-time.Minute)},
		{UID: "uid-mounted", Path: "/pods/uid-mounted", Namespace: "kube", Name: "db", Instance: "run-dead", Changed: lunch.Add(-time.Minute), Mounts: []string{"/pods/uid-mounted/volumes/x"}},
	}
	return f
}

func TestClassifyNamesWhatNoSourceDesires(t *testing.T) {
	var got strings.Builder
	for _, o := range Classify(orphanExamples()).Orphans {
		fmt.Fprintf(&got, "%s | %s | %s\n", o.Title(), o.Class, o.Why)
	}
	const want = `default/bare | runtime-only | no source desires it
default/filed-before | name-reserved | a.yaml desires another pod of its name, uid-hash2
default/kept | abandoned | its podctl process was killed, or run --keep left it running
default/left | abandoned | its agent has exited: a new agent adopts it
default/loose | no-sandbox | no source desires it, and its sandbox is gone
default/old | abandoned | its podctl process was killed
default/stopped | not-ready | no source desires it, and no container of it runs
default/taken | name-reserved | kubelet desires another pod of its name, uid-new
uid-dir | directory | the runtime has no pod of it
kube/db | directory | the runtime has no pod of it; mounts: volumes/x
`
	if got.String() != want {
		t.Errorf("got %s\nwant %s", got.String(), want)
	}
}

// A bare pod may be the pod of the UID that it was given, though others have it, too.
func TestBarePodKeepsWhatHasItsUID(t *testing.T) {
	bare := &pod.Pod{UID: "u_default_bare", SharedUID: "u", Namespace: "default", Name: "bare"}
	bare.Sandboxes = []*pod.Sandbox{{}}
	f := factsOf([]*pod.Pod{bare}, &owners.Answers{})
	f.Dirs = []Dir{{UID: "u", Path: "/pods/u"}}
	if got := Classify(f).Orphans; len(got) != 1 || got[0].Dir != nil {
		t.Errorf("orphans: %v, want the pod alone", got)
	}
	f = factsOf([]*pod.Pod{bare}, &owners.Answers{Sources: []owners.Source{source(sources.Answer{Source: "a.yaml", Pods: []*v1.Pod{wantedOne("other", "u")}})}})
	if got := Classify(f).Orphans; len(got) > 0 {
		t.Errorf("orphans: %v although a source desires the UID", got)
	}
}

func TestDirectoriesAreNoOrphansWhileTheirOwnersAreUnknown(t *testing.T) {
	f := orphanExamples()
	f.DirsUnknown = "a podctl process does not answer"
	for _, o := range Classify(f).Orphans {
		if o.Dir != nil {
			t.Errorf("named %s", o.Dir.Path)
		}
	}
}

// On any node, nothing that is desired or of a live podctl process is an orphan,
// and everything else is one, once, with the class it was planted with.
func TestClassifyNamesEachPlantedOrphanOnceAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var dirs []Dir
		var listedPods []*pod.Pod
		answers := make([]sources.Answer, 4)
		for i := range answers {
			answers[i].Source = fmt.Sprint("source ", i)
		}
		answers[1].ByName = true
		answers[3].Err = fmt.Errorf("no answer")
		living := alive("another")
		want := map[types.UID]Class{}
		for n := range rapid.IntRange(0, 12).Draw(t, "pods") {
			name := fmt.Sprintf("p%d", n)
			uid := types.UID("uid-" + name)
			creator := rapid.SampledFrom([]string{"", "run-dead", "run-alive"}).Draw(t, "creator")
			state := rapid.SampledFrom([]pod.State{pod.Running, pod.Exited}).Draw(t, "sandbox")
			p := listed(name, creator, state, slices.Repeat([]pod.State{state}, rapid.IntRange(1, 3).Draw(t, "containers"))...)
			class := RuntimeOnly
			switch {
			case creator == "" && rapid.Bool().Draw(t, "without a sandbox"):
				p.Sandboxes, class = nil, NoSandbox
			case state == pod.Exited:
				class = NotReady
			case creator != "":
				class = Abandoned
			}
			safe := creator == "run-alive"
			switch rapid.IntRange(0, 5).Draw(t, "role") {
			case 0:
				answers[0].Pods, safe = append(answers[0].Pods, wantedOne(name, string(uid))), true
			case 1:
				answers[1].Pods, safe = append(answers[1].Pods, wantedOne(name, "")), true
			case 2:
				if creator != "" || len(p.Sandboxes) == 0 { // what others created is no process's
					living.Workers[uid], safe = control.Worker{Namespace: "default", Name: name, UID: uid}, true
				}
			case 3:
				answers[2].Pods, class = append(answers[2].Pods, wantedOne(name, "another-"+name)), NameReserved
			}
			listedPods = append(listedPods, p)
			if !safe {
				want[uid] = class
			}
			if rapid.Bool().Draw(t, "has a directory") {
				dirs = append(dirs, Dir{UID: uid})
			}
		}
		for n := range rapid.IntRange(0, 5).Draw(t, "directories") {
			d := Dir{UID: types.UID(fmt.Sprintf("dir-%d", n))}
			switch rapid.IntRange(0, 3).Draw(t, "whose") {
			case 0:
				d.Keep = "it is in use"
			case 1:
				answers[0].Pods = append(answers[0].Pods, wantedOne("of-"+string(d.UID), string(d.UID)))
			case 2:
				living.Workers[d.UID] = control.Worker{Namespace: "default", Name: "of-" + string(d.UID), UID: d.UID}
			default:
				want[d.UID] = Directory
			}
			dirs = append(dirs, d)
		}
		all := &owners.Answers{Processes: []owners.Process{living, alive("run-alive")}}
		for _, a := range answers {
			all.Sources = append(all.Sources, source(a))
		}
		f := factsOf(listedPods, all)
		f.Dirs = dirs
		for _, o := range Classify(f).Orphans {
			class, planted := want[o.UID]
			switch {
			case !planted:
				t.Fatalf("named %s as %s: %s", o.UID, o.Class, o.Why)
			case class != o.Class:
				t.Fatalf("named %s as %s, want %s", o.UID, o.Class, class)
			case o.Why == "":
				t.Fatalf("%s: no reason given", o.UID)
			}
			delete(want, o.UID) // the second time it was not planted
		}
		if len(want) > 0 {
			t.Fatalf("not named: %v", want)
		}
	})
}

func TestDirectoryIsInUseWhileAPartIsMountedElsewhere(t *testing.T) {
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
		used := map[string]bool{}
		if markMountedOutside([]byte(c.table), theirs, used); used["u1"] != c.want || used["u2"] {
			t.Errorf("%q: %v", c.table, used)
		}
	}
}
