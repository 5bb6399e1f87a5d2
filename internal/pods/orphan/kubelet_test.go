package orphan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// A pod that a kubelet created is an orphan only if the kubelet answered, and has
// finished with it.
func TestKubeletsPodsAreOrphansOnlyIfItHasFinishedWithThem(t *testing.T) {
	unsettled := errors.New("not known")
	held := func() []*pod.Pod {
		noSandbox := listed("loose", "", pod.Running, pod.Running)
		noSandbox.Sandboxes = nil
		annotated := listed("annotated", "", pod.Running, pod.Running)
		annotated.Sandboxes[0].Labels, annotated.Sandboxes[0].Source = nil, "file"
		bare := listed("bare", "", pod.Running, pod.Running)
		bare.Sandboxes[0].Labels = nil
		return []*pod.Pod{
			annotated, bare, noSandbox,
			listed("running", "", pod.Running, pod.Running),
			listed("exited", "", pod.Exited, pod.Exited),
			listed("unmounting", "", pod.Exited, pod.Exited),
			listed("podctls", "run-dead", pod.Running, pod.Running),
		}
	}
	for _, c := range []struct {
		name  string
		state owners.Kubelet
		want  string
	}{
		{"it answered", owners.Kubelet{Answer: kubelet.Answer{PID: 7}}, "orphaned: bare exited podctls; terminating: annotated loose running unmounting; undetermined:"},
		{"it has not settled", owners.Kubelet{Answer: kubelet.Answer{PID: 7}, Unsettled: unsettled}, "orphaned: bare podctls; terminating:; undetermined: annotated exited loose running unmounting"},
		{"it is stopped", owners.Kubelet{Unsettled: &kubelet.AbsentError{}}, "orphaned: bare loose podctls; terminating:; undetermined: annotated exited running unmounting"},
		{"it cannot be seen", owners.Kubelet{Unsettled: &kubelet.UnseenError{Cause: unsettled}}, "orphaned: bare podctls; terminating:; undetermined: annotated exited loose running unmounting"},
		{"it named no pod", owners.Kubelet{Unsettled: unsettled}, "orphaned: bare podctls; terminating:; undetermined: annotated exited loose running unmounting"},
		{"it is stopped, and its sources answered", owners.Kubelet{}, "orphaned: annotated bare exited loose podctls running unmounting; terminating:; undetermined:"},
		{"the user says that it is gone", owners.Kubelet{Unsettled: unsettled, Gone: true}, "orphaned: annotated bare exited loose podctls running unmounting; terminating:; undetermined:"},
	} {
		if c.state.PID != 0 {
			c.state.HasDir = map[types.UID]bool{"uid-unmounting": true}
		}
		f := Classify(factsOf(held(), &owners.Answers{Kubelet: c.state}))
		var orphaned []*view.Pod
		for _, o := range f.Orphans {
			orphaned = append(orphaned, o.Pod)
		}
		got := fmt.Sprintf("orphaned:%s; terminating:%s; undetermined:%s", names(orphaned), names(f.Terminating), names(f.Undetermined))
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// A kubelet names its pod by the UID that it gave it, whatever else has that UID.
func TestKubeletsPodWithTheUIDOfAPodOfPodctlsIsTheKubelets(t *testing.T) {
	held := func(state pod.State) []*pod.Pod {
		kubelets := listed("kubelets", "", state, state)
		kubelets.UID = "uid-web"
		own := listed("web", "run-dead", pod.Running, pod.Running)
		return []*pod.Pod{own, kubelets.Separate()}
	}
	for _, c := range []struct {
		name    string
		state   pod.State
		desires []*v1.Pod
		want    string
	}{
		{"desired", pod.Running, []*v1.Pod{wantedOne("kubelets", "uid-web")}, "orphaned:; terminating:"},
		{"not desired any more", pod.Running, nil, "orphaned: web; terminating: kubelets"},
		{"not desired any more, and unmounting", pod.Exited, nil, "orphaned: web; terminating: kubelets"},
	} {
		pods := held(c.state)
		f := Classify(factsOf(pods, &owners.Answers{Kubelet: owners.Kubelet{
			Asked: true, Answer: kubelet.Answer{PID: 7, Source: "kubelet", Pods: c.desires}, HasDir: map[types.UID]bool{pods[1].UID: true},
		}}))
		var orphaned []*view.Pod
		for _, o := range f.Orphans {
			orphaned = append(orphaned, o.Pod)
		}
		if got := fmt.Sprintf("orphaned:%s; terminating:%s", names(orphaned), names(f.Terminating)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// An earlier pod of a static pod's name is terminated by the kubelet, if that has
// said which one it desires.
func TestEarlierPodOfAStaticPodsNameIsTerminating(t *testing.T) {
	held := []*pod.Pod{listed("web", "", pod.Running, pod.Running)}
	static := sources.Answer{Source: "static", ByName: true, Pods: []*v1.Pod{wantedOne("web", "made-up")}}
	ofKubelet := func(uid string, unsettled error) owners.Kubelet {
		return owners.Kubelet{Asked: true, Unsettled: unsettled, Answer: kubelet.Answer{PID: 7, Source: "kubelet", Pods: []*v1.Pod{wantedOne("web", uid)}}}
	}
	for _, c := range []struct {
		name  string
		state owners.Kubelet
		want  string
	}{
		{"the kubelet desires another one", ofKubelet("uid-next", nil), " web"},
		{"it desires this one", ofKubelet("uid-web", nil), ""},
		{"its sources answered for it", owners.Kubelet{Answer: kubelet.Answer{PID: 7}}, ""},
		{"it has not settled", ofKubelet("uid-next", errors.New("not known")), ""},
	} {
		f := Classify(factsOf(held, &owners.Answers{Kubelet: c.state, Sources: []owners.Source{source(static)}}))
		if got := names(f.Terminating); got != c.want || len(f.Orphans)+len(f.Undetermined) > 0 {
			t.Errorf("%s: terminating:%s, want:%s; %d orphans", c.name, got, c.want, len(f.Orphans))
		}
	}
}

func names(pods []*view.Pod) string {
	var all []string
	for _, p := range pods {
		all = append(all, " "+p.Name)
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// A podctl process that cannot be seen is not one that has exited: only the lock of a
// killed one shows that.
func TestPodsOfPodctlAreUndeterminedWhereItsProcessesAreNotVisible(t *testing.T) {
	unsettled := errors.New("not known")
	held := []*pod.Pod{
		listed("left", "run-left", pod.Running, pod.Running), listed("killed", "run-killed", pod.Running, pod.Running),
		listed("kubelets", "", pod.Running, pod.Running), listed("bare", "", pod.Running, pod.Running),
	}
	held[3].Sandboxes[0].Labels = nil
	// An agent that a container's own run directory shows as killed did not create it.
	other := listed("other", "agent", pod.Running, pod.Running)
	other.Sandboxes[0].OwnerID, held[1].Sandboxes[0].OwnerID = "agent/1", "run-killed/1"
	held = append(held, other)
	answers := &owners.Answers{
		Unseen:  &owner.UnseenError{},
		Exited:  map[string]owner.Exit{"run-killed": {At: time.Unix(1, 0), ID: "run-killed/1"}, "agent": {At: time.Unix(1, 0), ID: "agent/2"}},
		Kubelet: owners.Kubelet{Unsettled: unsettled},
	}
	found := Classify(factsOf(held, answers))
	var orphaned []*view.Pod
	for _, o := range found.Orphans {
		orphaned = append(orphaned, o.Pod)
	}
	if got := names(orphaned) + ";" + names(found.Undetermined); got != " bare killed; kubelets left other" {
		t.Errorf("orphaned and undetermined:%s", got)
	}
	for _, c := range []struct {
		pods            []*view.Pod
		unseen, kubelet bool
	}{{found.Undetermined, true, true}, {found.Undetermined[:1], false, true}, {found.Undetermined[1:], true, false}} {
		err := WhyUnknown(c.pods)
		_, unseen := errors.AsType[*owner.UnseenError](err)
		if unseen != c.unseen || errors.Is(err, unsettled) != c.kubelet {
			t.Errorf("%s: %v", names(c.pods), err)
		}
	}
	answers.Unseen = nil
	if got := names(Classify(factsOf(held, answers)).Undetermined); got != " kubelets" {
		t.Errorf("with all processes in sight:%s", got)
	}
}
