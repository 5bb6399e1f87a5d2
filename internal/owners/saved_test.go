package owners

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pod"
)

// stored are answers that were written to a file, and read.
func stored(t *testing.T, a *Answers) (*Answers, Saved) {
	t.Helper()
	text, err := json.Marshal(a.Save())
	if err != nil {
		t.Fatal(err)
	}
	var s Saved
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s.Answers(), s
}

// Every verdict is the one that the answers themselves lead to.
func TestStoredAnswersLeadToTheSameVerdicts(t *testing.T) {
	silent := errors.New("no answer")
	object := func(uid, name string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: name, Namespace: "default"}}
	}
	agent := Process{Process: control.Process{Name: "agent", ID: "agent/1", Socket: "/run/agent.sock"}, PID: 812, Settled: true, Workers: map[types.UID]control.Worker{
		"uid-web": {UID: "uid-web", Namespace: "default", Name: "web", Desired: true}, "uid-db": {UID: "uid-db", Namespace: "default", Name: "db", Rejected: "no room"},
	}}
	elsewhere := Process{Process: control.Process{Name: "other"}, Elsewhere: true, Endpoint: "unix:///x", Err: silent}
	present := Kubelet{Process: &kubelet.Process{PID: 7}, Asked: true, Answer: kubelet.Answer{PID: 7, Source: "kubelet x", Pods: []*v1.Pod{object("uid-static", "static")}}}
	unread := present
	unread.Err, unread.Incomplete, unread.Unsettled = silent, silent, silent
	pods := []*pod.Pod{listed("web", "agent", pod.Running), listed("db", "agent", pod.Running), listed("gone", "run-1", pod.Exited), listed("lost", "run-2", pod.Running), bare("bare")}
	static := bare("static")
	static.UID, static.Sandboxes[0].Source = "uid-static", "file"
	pods = append(pods, static)
	for name, a := range map[string]*Answers{
		"nobody":            {},
		"not asked":         NotAsked(),
		"an agent":          {Processes: []Process{agent, elsewhere}, Kubelet: Kubelet{Unsettled: &kubelet.AbsentError{}}},
		"a silent one":      {Processes: []Process{{Process: control.Process{Name: "agent"}, Err: silent, Stopped: true}}},
		"a kubelet":         {Kubelet: present},
		"a kubelet unread":  {Kubelet: unread},
		"a kubelet unseen":  {Kubelet: Kubelet{FindErr: silent, Unsettled: silent}},
		"a static source":   {Sources: []Source{{Answer: sources.Answer{Source: "dir", Pods: []*v1.Pod{object("uid-lost", "lost")}}, Kind: FromStatic}, {Answer: sources.Answer{Source: "cluster", Err: silent}, Kind: FromCluster}}},
		"a name that is":    {names: map[string]nameHolder{pods[3].FullName(): {Process: agent, silent: true}}},
		"a killed instance": {Unseen: silent, Exited: map[string]owner.Exit{"run-1": {At: time.Unix(7, 0), ID: pods[2].Sandboxes[0].OwnerID}}},
		"unread locks":      {Unread: silent},
	} {
		again, _ := stored(t, a)
		for _, p := range pods {
			want, got := a.Judge(p), again.Judge(p)
			if want.Relation != got.Relation || want.Kind != got.Kind || want.Source != got.Source || want.Process.Title() != got.Process.Title() || textOf(want.Why) != textOf(got.Why) {
				t.Errorf("%s, %s: %+v, want %+v", name, p.Name, got, want)
			}
		}
		if (a.Kubelet.Process == nil) != (again.Kubelet.Process == nil) || len(again.Kubelet.Pods) != len(a.Kubelet.Pods) {
			t.Errorf("%s: kubelet %+v", name, again.Kubelet)
		}
	}
}

// A stored process answers at its socket with the pods that it had.
func TestStoredProcessShowsItsPods(t *testing.T) {
	_, s := stored(t, &Answers{Processes: []Process{{Process: control.Process{Name: "agent", Socket: "/run/agent.sock"}}, {Process: control.Process{Name: "mute", Socket: "/run/mute.sock"}}}})
	s.Processes[0].Pods = &v1.PodList{Items: []v1.Pod{{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "web"}}, {ObjectMeta: metav1.ObjectMeta{UID: "v", Name: "db"}}}}
	client := control.Process{Name: "agent", Socket: "/run/agent.sock"}.Client(s.Dial)
	for range 2 {
		if p, err := client.Pod(t.Context(), "v"); err != nil || p.Name != "db" {
			t.Errorf("%v, %v", p, err)
		}
	}
	if err := client.Start(t.Context(), "default", "web"); err == nil {
		t.Error("a stored process started a pod")
	}
	for _, socket := range []string{"/run/mute.sock", "/run/other.sock"} {
		if _, err := (control.Process{Socket: socket}).Client(s.Dial).Pods(t.Context()); err == nil {
			t.Errorf("%s answers", socket)
		}
	}
}
