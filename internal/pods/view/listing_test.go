package view

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/testkit/testutil"
)

// listed is a pod as a runtime lists it.
var listed = testutil.ListedPod

func examples() []*Pod {
	bare := listed("bare", "", pod.Running, pod.Running)
	bare.Sandboxes[0].Labels = nil
	return Merge([]*pod.Pod{
		listed("web", "agent", pod.Running, pod.Running),
		listed("taken", "run-dead", pod.Running, pod.Running), // and taken over
		listed("old", "run-dead", pod.Running, pod.Running, pod.Exited),
		listed("beside", "run-alive", pod.Running),
		listed("static", "", pod.Exited, pod.Exited),
		listed("half", "", pod.Exited, pod.Running, pod.Running),
		bare,
	}, &owners.Answers{Processes: []owners.Process{
		{Process: control.Process{Name: "agent"}, Settled: true, Workers: map[types.UID]control.Worker{
			"uid-web":   {Namespace: "default", Name: "web", UID: "uid-web", Phase: "terminating", PodPhase: "Running", Ready: 1, Containers: 1, IPs: []string{"10.0.0.7"}},
			"uid-taken": {Namespace: "default", Name: "taken", UID: "uid-taken", Phase: "syncing", PodPhase: "Running", Ready: 1, Containers: 2, Restarts: 3},
			"uid-done":  {Namespace: "default", Name: "done", UID: "uid-done", Phase: "terminated", PodPhase: "Succeeded", Containers: 1},
			"uid-no":    {Namespace: "default", Name: "no", UID: "uid-no", Phase: "unknown", PodPhase: "Failed", Rejected: "its name is taken"},
		}},
		{Process: control.Process{Name: "run-alive"}},
	}})
}

func TestPodFilter(t *testing.T) {
	parse := func(text string) Filter {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return Filter{Selector: selector}
	}
	for _, c := range []struct {
		name   string
		filter Filter
		want   string
	}{
		{"all", Filter{}, "bare beside done half no old static taken web"},
		{"another namespace", Filter{Namespace: "kube"}, ""},
		{"a name", Filter{Names: []string{"web"}}, "web"},
		{"names with a star", Filter{Names: []string{"default/b*", "old"}}, "bare beside old"},
		{"labels", parse("app in (web,old)"), "old web"},
		{"of a podctl instance", Filter{Owner: "run-dead"}, "old taken"},
		{"of any podctl", Filter{Owner: "podctl"}, "beside done no old taken web"},
		{"of a kubelet", Filter{Owner: "kubelet"}, "half static"},
		{"terminating", Filter{Terminating: true}, "done half web"},
		{"abandoned", Filter{Abandoned: true}, "old"},
	} {
		var got []string
		all := examples()
		filter := c.filter.Resolve(all)
		for _, h := range all {
			if filter.Selects(h) {
				got = append(got, h.Name)
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// What one pod is called is neither a pattern nor a UID of others, as in `orphans --kill`.
func TestFilterNameGoesBeforePatternAndUID(t *testing.T) {
	all := []*Pod{
		{Metadata: Metadata{Namespace: "*", Name: "*", UID: "1"}}, {Metadata: Metadata{Namespace: "default", Name: "web", UID: "2"}},
		{Metadata: Metadata{Namespace: "default", Name: "2", UID: "3"}}, {Metadata: Metadata{Namespace: "default", Name: "api", UID: "web"}},
	}
	for word, want := range map[string]string{"*/*": "1", "default/*": "2 3 web", "2": "3", "web": "2", "1": "1"} {
		filter := Filter{Names: []string{word, "none"}}.Resolve(all)
		var got []string
		for _, p := range all {
			if filter.Selects(p) {
				got = append(got, string(p.UID))
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", word, text, want)
		}
		if none := filter.Unmatched(all); len(none) != 1 || none[0] != "none" {
			t.Errorf("%s: unmatched %q", word, none)
		}
	}
}

// The pod of a podctl process may have nothing in the runtime while a pod that podctl did
// not create has its UID: each has its own name, owner and fate.
func TestForeignPodWithTheUIDOfAManagedPodIsAPodOfItsOwn(t *testing.T) {
	foreign := listed("other", "", pod.Running, pod.Running)
	foreign.UID = "uid-web"
	pods := Merge([]*pod.Pod{foreign}, &owners.Answers{Processes: []owners.Process{{
		Settled: true, Workers: map[types.UID]control.Worker{"uid-web": {Namespace: "default", Name: "web", UID: "uid-web", Phase: "syncing"}},
	}}})
	if len(pods) != 2 {
		t.Fatalf("%d pods", len(pods))
	}
	other, web := pods[0], pods[1]
	if other.Name != "other" || other.UID != "uid-web+default_other" || other.Managed() || other.Kind() != KindKubelet || other.GivenUID() != "uid-web" || other.DistinctUID() != other.UID {
		t.Errorf("the foreign pod: %+v", other)
	}
	if web.Name != "web" || web.UID != "uid-web" || !web.Managed() || web.Runtime != nil {
		t.Errorf("the managed pod: %+v", web)
	}
	if foreign.UID != "uid-web" {
		t.Error("the listing was changed")
	}
}

func TestKindByKubeletAnnotationAndLabels(t *testing.T) {
	labels := map[string]string{pod.UIDLabel: "1"}
	crio := map[string]string{pod.UIDLabel: "1", pod.ContainerNameLabel: "POD"}
	for name, c := range map[string]struct {
		sandbox pod.Sandbox
		want    OwnerKind
	}{
		"annotation":                    {pod.Sandbox{Source: "file"}, KindKubelet},
		"labels":                        {pod.Sandbox{Labels: labels}, KindKubelet},
		"labels that CRI-O adds":        {pod.Sandbox{Labels: crio}, KindOther},
		"annotation and CRI-O's labels": {pod.Sandbox{Labels: crio, Source: "api"}, KindKubelet},
		"neither":                       {pod.Sandbox{}, KindOther},
	} {
		p := &Pod{Runtime: &pod.Pod{Sandboxes: []*pod.Sandbox{&c.sandbox}}}
		if got := p.Kind(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A pod that its kubelet no longer names runs until its grace period is over.
func TestPodThatItsKubeletNoLongerNamesIsTerminatingWhileItRuns(t *testing.T) {
	for _, c := range []struct {
		name       string
		terminates bool
		state      pod.State
		want       string
	}{
		{"named", false, pod.Running, "Running Running false"},
		{"not named", true, pod.Running, "Terminating Terminating true"},
		{"not named, and its state is not known", true, pod.Unknown, "Terminating Terminating true"},
		{"not named, and ended", true, pod.Exited, "Exited ExitCode:unknown false"},
	} {
		answers := &owners.Answers{Kubelet: owners.Kubelet{Answer: kubelet.Answer{PID: 7}}}
		if !c.terminates {
			answers.Kubelet.Pods = []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{UID: "uid-web"}, Status: v1.PodStatus{Phase: v1.PodRunning}}}
		}
		p := Merge([]*pod.Pod{listed("web", "", c.state, c.state)}, answers)[0]
		if got := fmt.Sprint(p.ListedPhase(), " ", p.Display().Status, " ", p.Terminating()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
