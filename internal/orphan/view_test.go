package orphan

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/pod"
)

func sourceOf(kind SourceKind, named bool, err error, pods ...*v1.Pod) Source {
	return Source{Answer: desired.Answer{Source: "source", Err: err, Pods: pods}, Kind: kind, Named: named}
}

func TestRefusalWhereANamedSourceDoesNotAnswer(t *testing.T) {
	silent := errors.New("no answer")
	for _, c := range []struct {
		name    string
		view    View
		refused string
	}{
		{"no source", View{}, ""},
		{"a podctl process is silent: its locks speak", View{Sources: []Source{sourceOf(FromPodctl, false, silent)}}, ""},
		{"a kubelet is silent: its pods are not judged", View{Near: &kubelet.Process{}, Sources: []Source{sourceOf(FromKubelet, false, silent)}}, ""},
		{"a manifest cannot be read", View{Sources: []Source{sourceOf(FromFile, true, silent)}}, "the desired pods are not known: no answer"},
		{"a named kubelet is silent", View{Sources: []Source{sourceOf(FromKubelet, true, silent)}}, "are not known"},
		{"the kubelet is said to be gone, and is not", View{Near: &kubelet.Process{PID: 7}, Facts: Facts{Kubelet: KubeletState{Gone: true}}}, "--kubelet-is-gone: a kubelet (pid 7) uses this runtime"},
	} {
		err := c.view.Refusal()
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}

// What the kubelet desires is known only if it, or all that it follows, answered
// completely and has settled.
func TestUnsettledUntilTheKubeletAnsweredCompletely(t *testing.T) {
	silent := errors.New("no answer")
	near := &kubelet.Process{PID: 7}
	web := wantedOne("web", "uid-web")
	young, unheard := errors.New("it was started 1s ago"), errors.New("it names no pod of its API server")
	answered := func(named bool, incomplete, besideCluster error, pods ...*v1.Pod) Source {
		s := sourceOf(FromKubelet, named, nil, pods...)
		s.Kubelet = kubelet.Answer{Pods: pods, Incomplete: incomplete, IncompleteBesideCluster: besideCluster}
		return s
	}
	held := inventory.Merge([]*pod.Pod{listed("web", "", pod.Running, pod.Running), listed("exited", "", pod.Exited, pod.Exited)}, nil,
		func(*inventory.Pod) bool { return false })
	for _, c := range []struct {
		name    string
		near    *kubelet.Process
		err     error
		sources []Source
		want    string
	}{
		{"no kubelet uses the runtime", nil, nil, nil, "none uses this runtime now"},
		{"a kubelet may use it", nil, silent, nil, "no answer"},
		{"a kubelet that podctl does not see answered", nil, nil, []Source{answered(true, nil, nil, web)}, ""},
		{"another machine's kubelet answered", nil, nil, []Source{answered(true, nil, nil, wantedOne("db", "uid-db"))}, "names none of the pods that run here"},
		{"a kubelet answered that ran a pod here", nil, nil, []Source{answered(true, nil, nil, wantedOne("exited", "uid-exited"))}, "names none of the pods that run here"},
		{"another machine's kubelet answered, and one uses the runtime", near, nil, []Source{answered(true, nil, nil, wantedOne("db", "uid-db"))}, "pid 7) uses this runtime, and its desired pods are not known: source names none"},
		{"a kubelet elsewhere named no pod", nil, nil, []Source{answered(true, unheard, nil)}, "it names no pod of its API server"},
		{"a kubelet elsewhere named no pod, and the cluster was asked", nil, nil, []Source{answered(true, unheard, nil), sourceOf(FromCluster, true, nil)}, "names none of the pods that run here"},
		{"all that a stopped kubelet follows answered", nil, nil, []Source{sourceOf(FromStatic, true, nil), sourceOf(FromCluster, true, nil)}, ""},
		{"the cluster alone", nil, nil, []Source{sourceOf(FromCluster, true, nil)}, "none uses this runtime now"},
		{"the kubelet is silent", near, nil, []Source{sourceOf(FromKubelet, false, silent)}, "a kubelet (pid 7) uses this runtime, and its desired pods are not known: no answer"},
		{"its static pods alone", near, nil, []Source{sourceOf(FromKubelet, false, silent), sourceOf(FromStatic, true, nil)}, "pid 7"},
		{"all that it follows", near, nil, []Source{sourceOf(FromKubelet, false, silent), sourceOf(FromStatic, false, nil), sourceOf(FromCluster, true, nil)}, ""},
		{"it may not have reached its cluster", near, nil, []Source{answered(false, unheard, nil, web)}, "names no pod of its API server"},
		{"the cluster was asked, too", near, nil, []Source{answered(false, unheard, nil), sourceOf(FromCluster, true, nil)}, ""},
		{"it answered", near, nil, []Source{answered(false, nil, nil, web)}, ""},
		{"it was just started", near, nil, []Source{answered(false, young, young, web)}, "it was started 1s ago"},
		{"it was just started, and the cluster was asked", near, nil, []Source{answered(false, young, young, web), sourceOf(FromCluster, true, nil)}, "it was started 1s ago"},
	} {
		v := &View{Near: c.near, NearErr: c.err, Sources: c.sources, Facts: Facts{Pods: held}}
		err := v.unsettled()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
