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

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// A pod that a kubelet created is an orphan only if the kubelet answered, and has
// finished with it.
func TestKubeletsPodsAreOrphansOnlyIfItHasFinishedWithThem(t *testing.T) {
	unsettled := errors.New("not known")
	held := func() []*inventory.Pod {
		noSandbox := listed("loose", "", pod.Running, pod.Running)
		noSandbox.Sandboxes = nil
		annotated := listed("annotated", "", pod.Running, pod.Running)
		annotated.Sandboxes[0].Labels, annotated.Sandboxes[0].Source = nil, "file"
		bare := listed("bare", "", pod.Running, pod.Running)
		bare.Sandboxes[0].Labels = nil
		return inventory.Merge([]*pod.Pod{
			annotated, bare, noSandbox,
			listed("running", "", pod.Running, pod.Running),
			listed("exited", "", pod.Exited, pod.Exited),
			listed("unmounting", "", pod.Exited, pod.Exited),
			listed("podctls", "run-dead", pod.Running, pod.Running),
		}, nil, func(*inventory.Pod) bool { return false })
	}
	for _, c := range []struct {
		name  string
		state KubeletState
		want  string
	}{
		{"it answered", KubeletState{PID: 7}, "orphaned: bare exited podctls; terminating: annotated loose running unmounting; undetermined:"},
		{"it has not settled", KubeletState{PID: 7, Unsettled: unsettled}, "orphaned: bare podctls; terminating:; undetermined: annotated exited loose running unmounting"},
		{"it is stopped", KubeletState{Unsettled: &kubelet.AbsentError{}}, "orphaned: bare loose podctls; terminating:; undetermined: annotated exited running unmounting"},
		{"it cannot be seen", KubeletState{Unsettled: &kubelet.UnseenError{Cause: unsettled}}, "orphaned: bare podctls; terminating:; undetermined: annotated exited loose running unmounting"},
		{"not seen, it named no pod", KubeletState{Unsettled: unsettled}, "orphaned: bare podctls; terminating:; undetermined: annotated exited loose running unmounting"},
		{"it is stopped, and its sources answered", KubeletState{}, "orphaned: annotated bare exited loose podctls running unmounting; terminating:; undetermined:"},
		{"the user says that it is gone", KubeletState{Unsettled: unsettled, Gone: true}, "orphaned: annotated bare exited loose podctls running unmounting; terminating:; undetermined:"},
	} {
		if c.state.PID != 0 {
			c.state.HasDir = map[types.UID]bool{"uid-unmounting": true}
		}
		f := Classify(Facts{Pods: held(), Kubelet: c.state})
		var orphaned []*inventory.Pod
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
	held := func(state pod.State) []*inventory.Pod {
		kubelets := listed("kubelets", "", state, state)
		kubelets.UID = "uid-web"
		own := listed("web", "run-dead", pod.Running, pod.Running)
		return inventory.Merge([]*pod.Pod{own, kubelets.Separate()}, nil, func(*inventory.Pod) bool { return false })
	}
	desires := []desired.Answer{{Source: "kubelet", Pods: []*v1.Pod{wantedOne("kubelets", "uid-web")}}}
	for _, c := range []struct {
		name    string
		state   pod.State
		answers []desired.Answer
		want    string
	}{
		{"desired", pod.Running, desires, "orphaned:; terminating:"},
		{"not desired any more", pod.Running, nil, "orphaned: web; terminating: kubelets"},
		{"not desired any more, and unmounting", pod.Exited, nil, "orphaned: web; terminating: kubelets"},
	} {
		pods := held(c.state)
		f := Classify(Facts{Pods: pods, Answers: c.answers, Kubelet: KubeletState{PID: 7, Answered: true, HasDir: hasDirs(pods, func(uid types.UID) bool { return uid == "uid-web" })}})
		var orphaned []*inventory.Pod
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
	unsettled := errors.New("not known")
	held := inventory.Merge([]*pod.Pod{listed("web", "", pod.Running, pod.Running)}, nil, func(*inventory.Pod) bool { return false })
	static := desired.Answer{Source: "static", ByName: true, Pods: []*v1.Pod{wantedOne("web", "made-up")}}
	ofKubelet := func(uid string) desired.Answer {
		return desired.Answer{Source: "kubelet", Pods: []*v1.Pod{wantedOne("web", uid)}}
	}
	for _, c := range []struct {
		name    string
		state   KubeletState
		answers []desired.Answer
		want    string
	}{
		{"the kubelet desires another one", KubeletState{PID: 7, Answered: true}, []desired.Answer{static, ofKubelet("uid-next")}, " web"},
		{"it desires this one", KubeletState{PID: 7, Answered: true}, []desired.Answer{static, ofKubelet("uid-web")}, ""},
		{"its sources answered for it", KubeletState{PID: 7}, []desired.Answer{static}, ""},
		{"it has not settled", KubeletState{PID: 7, Answered: true, Unsettled: unsettled}, []desired.Answer{static, ofKubelet("uid-next")}, ""},
	} {
		f := Classify(Facts{Pods: held, Kubelet: c.state, Answers: c.answers})
		if got := names(f.Terminating); got != c.want || len(f.Orphans)+len(f.Undetermined) > 0 {
			t.Errorf("%s: terminating:%s, want:%s; %d orphans", c.name, got, c.want, len(f.Orphans))
		}
	}
}

func names(pods []*inventory.Pod) string {
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
	facts := Facts{
		Pods:         inventory.Merge(held, nil, func(*inventory.Pod) bool { return false }),
		OwnersUnseen: &owner.UnseenError{},
		Exited:       map[string]owner.Exit{"run-killed": {At: time.Unix(1, 0), ID: "run-killed/1"}, "agent": {At: time.Unix(1, 0), ID: "agent/2"}},
		Kubelet:      KubeletState{Unsettled: unsettled},
	}
	found := Classify(facts)
	var orphaned []*inventory.Pod
	for _, o := range found.Orphans {
		orphaned = append(orphaned, o.Pod)
	}
	if got := names(orphaned) + ";" + names(found.Undetermined); got != " bare killed; kubelets left other" {
		t.Errorf("orphaned and undetermined:%s", got)
	}
	for _, c := range []struct {
		pods            []*inventory.Pod
		unseen, kubelet bool
	}{{found.Undetermined, true, true}, {found.Undetermined[:1], false, true}, {found.Undetermined[1:], true, false}} {
		err := facts.Unknown(c.pods)
		_, unseen := errors.AsType[*owner.UnseenError](err)
		if unseen != c.unseen || errors.Is(err, unsettled) != c.kubelet {
			t.Errorf("%s: %v", names(c.pods), err)
		}
	}
	facts.OwnersUnseen = nil
	if got := names(Classify(facts).Undetermined); got != " kubelets" {
		t.Errorf("with all processes in sight:%s", got)
	}
}
