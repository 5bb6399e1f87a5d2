package orphan

import (
	"errors"
	"strings"
	"testing"
	"time"

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
		{"a kubelet is silent: its pods are not judged", View{Near: &kubelet.Near{}, Sources: []Source{sourceOf(FromKubelet, false, silent)}}, ""},
		{"a manifest cannot be read", View{Sources: []Source{sourceOf(FromFile, true, silent)}}, "the desired pods are not known: no answer"},
		{"a named kubelet is silent", View{Sources: []Source{sourceOf(FromKubelet, true, silent)}}, "are not known"},
		{"the kubelet is said to be gone, and is not", View{Near: &kubelet.Near{PID: 7}, Facts: Facts{Kubelet: KubeletState{Gone: true}}}, "--kubelet-is-gone: a kubelet (pid 7) uses this runtime"},
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
	near, young := &kubelet.Near{PID: 7, Age: time.Hour}, &kubelet.Near{PID: 7, Age: time.Second}
	follower := &kubelet.Near{PID: 8, Age: time.Hour, Follows: true}
	web, static := wantedOne("web", "uid-web"), wantedOne("static-node", "")
	ofCluster := wantedOne("db", "uid-db")
	ofCluster.Annotations = map[string]string{pod.ConfigSourceAnnotation: "api"}
	kept := func(pods ...*v1.Pod) []Source {
		s := sourceOf(FromKubelet, true, nil, pods...)
		s.Working.Housekept = true
		return []Source{s}
	}
	held := inventory.Merge([]*pod.Pod{listed("web", "", pod.Running, pod.Running), listed("exited", "", pod.Exited, pod.Exited)}, nil,
		func(*inventory.Pod) bool { return false })
	for _, c := range []struct {
		name    string
		near    *kubelet.Near
		err     error
		sources []Source
		want    string
	}{
		{"no kubelet uses the runtime", nil, nil, nil, "none uses this runtime now"},
		{"a kubelet may use it", nil, silent, nil, "no answer"},
		{"a kubelet that podctl does not see answered", nil, nil, []Source{sourceOf(FromKubelet, true, nil, web)}, ""},
		{"another machine's kubelet answered", nil, nil, []Source{sourceOf(FromKubelet, true, nil, ofCluster)}, "names none of the pods that run here"},
		{"a kubelet answered that ran a pod here", nil, nil, []Source{sourceOf(FromKubelet, true, nil, wantedOne("exited", "uid-exited"))}, "names none of the pods that run here"},
		{"another machine's kubelet answered, and one uses the runtime", near, nil, []Source{sourceOf(FromKubelet, true, nil, ofCluster)}, "pid 7) uses this runtime, and its desired pods are not known: source names none"},
		{"a kubelet elsewhere named no pod", nil, nil, []Source{sourceOf(FromKubelet, true, nil)}, "may not have read its sources yet"},
		{"all that a stopped kubelet follows answered", nil, nil, []Source{sourceOf(FromStatic, true, nil), sourceOf(FromCluster, true, nil)}, ""},
		{"the cluster alone", nil, nil, []Source{sourceOf(FromCluster, true, nil)}, "none uses this runtime now"},
		{"the kubelet is silent", near, nil, []Source{sourceOf(FromKubelet, false, silent)}, "a kubelet (pid 7) uses this runtime, and its desired pods are not known: no answer"},
		{"its static pods alone", near, nil, []Source{sourceOf(FromKubelet, false, silent), sourceOf(FromStatic, true, nil)}, "pid 7"},
		{"all that it follows", near, nil, []Source{sourceOf(FromKubelet, false, silent), sourceOf(FromStatic, false, nil), sourceOf(FromCluster, true, nil)}, ""},
		{"it may not have reached its cluster", follower, nil, []Source{sourceOf(FromKubelet, false, nil, web)}, "names no pod of its API server"},
		{"it has", follower, nil, []Source{sourceOf(FromKubelet, false, nil, ofCluster)}, ""},
		{"the cluster was asked, too", follower, nil, []Source{sourceOf(FromKubelet, false, nil), sourceOf(FromCluster, true, nil)}, ""},
		{"it answered", near, nil, []Source{sourceOf(FromKubelet, false, nil, web)}, ""},
		{"it was just started", young, nil, []Source{sourceOf(FromKubelet, false, nil, web)}, "it was started 1s ago"},
		{"it was just started, and its housekeeping has run", young, nil, kept(web), ""},
		{"it has reached its cluster, which has no pod for it", follower, nil, kept(web), ""},
		{"a kubelet elsewhere named no pod, and its housekeeping has run", nil, nil, kept(), "names none of the pods that run here"},
		{"its housekeeping has run, and it does not name a static pod", young, nil, append(kept(web), sourceOf(FromStatic, false, nil, static)), "does not name its static pod default/static-node"},
		{"it does not name a static pod", near, nil, []Source{sourceOf(FromKubelet, false, nil, web), sourceOf(FromStatic, false, nil, static)}, "does not name its static pod default/static-node"},
		{"it names it", near, nil, []Source{sourceOf(FromKubelet, false, nil, web, wantedOne("static-node", "uid-static")), sourceOf(FromStatic, false, nil, static)}, ""},
	} {
		v := &View{Near: c.near, NearErr: c.err, Sources: c.sources, Facts: Facts{Pods: held}}
		err := v.unsettled()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
