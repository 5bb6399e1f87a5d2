package owners

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
)

func named(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
}

// What the kubelet desires is known only if it, or all that it follows, answered
// completely and has settled.
func TestUnsettledUntilTheKubeletAnsweredCompletely(t *testing.T) {
	silent := errors.New("no answer")
	process := &kubelet.Process{PID: 7}
	young, unheard := errors.New("it was started 1s ago"), errors.New("it names no pod of its API server")
	answered := func(byUser bool, incomplete, besideCluster error, pods ...*v1.Pod) Kubelet {
		return Kubelet{Asked: true, Named: byUser, Answer: kubelet.Answer{Source: "source", Pods: pods, Incomplete: incomplete, IncompleteBesideCluster: besideCluster}}
	}
	unanswered := Kubelet{Asked: true, Answer: kubelet.Answer{PID: 7, Err: silent}}
	cluster, static := Source{Kind: FromCluster}, Source{Kind: FromStatic}
	listedPods := []*pod.Pod{listed("web", "", pod.Running, pod.Running), listed("exited", "", pod.Exited, pod.Exited)}
	for _, c := range []struct {
		name    string
		process *kubelet.Process
		err     error
		kubelet Kubelet
		sources []Source
		want    string
	}{
		{"no kubelet uses the runtime", nil, nil, Kubelet{}, nil, "none uses this runtime now"},
		{"a kubelet may use it", nil, silent, Kubelet{}, nil, "no answer"},
		{"a kubelet that podctl does not see answered", nil, nil, answered(true, nil, nil, named("web")), nil, ""},
		{"another machine's kubelet answered", nil, nil, answered(true, nil, nil, named("db")), nil, "names none of the pods that run here"},
		{"a kubelet answered that ran a pod here", nil, nil, answered(true, nil, nil, named("exited")), nil, "names none of the pods that run here"},
		{"another machine's kubelet answered, and one uses the runtime", process, nil, answered(true, nil, nil, named("db")), nil, "pid 7) uses this runtime, and its desired pods are not known: source names none"},
		{"a kubelet elsewhere named no pod", nil, nil, answered(true, unheard, nil), nil, "it names no pod of its API server"},
		{"a kubelet elsewhere named no pod, and the cluster was asked", nil, nil, answered(true, unheard, nil), []Source{cluster}, "names none of the pods that run here"},
		{"all that a stopped kubelet follows answered", nil, nil, Kubelet{}, []Source{static, cluster}, ""},
		{"the cluster alone", nil, nil, Kubelet{}, []Source{cluster}, "none uses this runtime now"},
		{"the kubelet is silent", process, nil, unanswered, nil, "a kubelet (pid 7) uses this runtime, and its desired pods are not known: no answer"},
		{"its static pods alone", process, nil, unanswered, []Source{static}, "pid 7"},
		{"all that it follows", process, nil, unanswered, []Source{static, cluster}, ""},
		{"it may not have reached its cluster", process, nil, answered(false, unheard, nil, named("web")), nil, "names no pod of its API server"},
		{"the cluster was asked, too", process, nil, answered(false, unheard, nil), []Source{cluster}, ""},
		{"it answered", process, nil, answered(false, nil, nil, named("web")), nil, ""},
		{"it was just started", process, nil, answered(false, young, young, named("web")), nil, "it was started 1s ago"},
		{"it was just started, and the cluster was asked", process, nil, answered(false, young, young, named("web")), []Source{cluster}, "it was started 1s ago"},
	} {
		a := &Answers{Kubelet: c.kubelet, Sources: c.sources}
		if a.Kubelet.Process, a.Kubelet.FindErr = c.process, c.err; c.process != nil {
			a.Kubelet.PID = c.process.PID
		}
		err := a.unsettledError(listedPods)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
