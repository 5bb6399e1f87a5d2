package orphan

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/pod"
)

func sourceOf(kind SourceKind, named bool, err error) Source {
	return Source{Answer: desired.Answer{Source: "source", Err: err, Pods: []*v1.Pod{}}, Kind: kind, Named: named}
}

func TestRefusalWhereAnAnswerIsMissing(t *testing.T) {
	silent := errors.New("no answer")
	near, follower := &kubelet.Near{PID: 7}, &kubelet.Near{PID: 8, Follows: true}
	ofCluster := wantedOne("web", "uid-web")
	ofCluster.Annotations = map[string]string{pod.ConfigSourceAnnotation: "api"}
	for _, c := range []struct {
		name    string
		kubelet *kubelet.Near
		err     error
		sources []Source
		refused string
	}{
		{"no source", nil, nil, nil, ""},
		{"a kubelet may use the runtime", nil, silent, nil, "no answer"},
		{"a podctl is silent: its locks speak", nil, nil, []Source{sourceOf(FromPodctl, false, silent)}, ""},
		{"a manifest cannot be read", nil, nil, []Source{sourceOf(FromFile, true, silent)}, "the desired pods are not known: no answer"},
		{"a kubelet elsewhere is silent that was named", nil, nil, []Source{sourceOf(FromKubelet, true, silent)}, "are not known"},
		{"the kubelet here was not read", near, nil, []Source{sourceOf(FromKubelet, false, silent)}, "a kubelet (pid 7) uses this runtime, and its desired pods are not known: no answer"},
		{"nor with its static pods alone", near, nil, []Source{sourceOf(FromKubelet, false, silent), sourceOf(FromStatic, true, nil)}, "a kubelet (pid 7)"},
		{"nor with the cluster alone", near, nil, []Source{sourceOf(FromKubelet, false, silent), sourceOf(FromCluster, true, nil)}, "a kubelet (pid 7)"},
		{"both make up for it", near, nil, []Source{sourceOf(FromKubelet, false, silent), sourceOf(FromStatic, false, nil), sourceOf(FromCluster, true, nil)}, ""},
		{"the kubelet here may not have heard from its cluster", follower, nil, []Source{sourceOf(FromKubelet, false, nil)}, "names no pod of its API server"},
		{"it has", follower, nil, []Source{{Answer: desired.Answer{Pods: []*v1.Pod{ofCluster}}, Kind: FromKubelet}}, ""},
		{"the cluster was asked, too", follower, nil, []Source{sourceOf(FromKubelet, false, nil), sourceOf(FromCluster, true, nil)}, ""},
		{"the kubelet here was read", near, nil, []Source{sourceOf(FromKubelet, false, nil)}, ""},
	} {
		v := &View{Kubelet: c.kubelet, KubeletErr: c.err, Sources: c.sources}
		err := v.Refusal()
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}
