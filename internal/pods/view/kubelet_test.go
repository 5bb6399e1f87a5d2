package view

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

func TestKubeletTerminatesWhatItDeletesOrNoLongerNames(t *testing.T) {
	grace := int64(60)
	deleted := metav1.NewTime(now.Add(time.Minute))
	pods := map[types.UID]*v1.Pod{
		"wanted":  {},
		"deleted": {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &grace}},
	}
	settled, starting := kubeletPods{pods: pods, complete: true}, kubeletPods{pods: pods}
	for uid, want := range map[types.UID][2]bool{"wanted": {false, false}, "deleted": {true, true}, "unnamed": {true, false}} {
		if got := [2]bool{settled.terminates(uid), starting.terminates(uid)}; got != want {
			t.Errorf("%s: settled %v, starting %v, want %v", uid, got[0], got[1], want)
		}
	}
	if (kubeletPods{}).terminates("any") {
		t.Error("without an answer nothing is known to be terminated")
	}
	if requested, given := settled.deletion("deleted"); !requested.Equal(now) || *given != 60 {
		t.Errorf("deletion requested %v, grace %d", requested, *given)
	}
}

func TestVolumesOfTerminatedPodsAreUnlistedPods(t *testing.T) {
	const uid, alive, listed = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "11111111-7425-40de-944b-e07fc1f90ae7"
	table := "36 35 0:40 / /var/lib/kubelet/pods/" + uid + `/volumes/kubernetes.io~empty-dir/my\040cache rw - tmpfs tmpfs rw` + "\n" +
		"37 35 0:41 / /var/lib/kubelet/pods/" + alive + "/volumes/kubernetes.io~projected/token rw - tmpfs tmpfs rw\n" +
		"38 35 0:42 / /var/lib/kubelet/pods/" + listed + "/volume-subpaths/a/b/0 rw - ext4 /dev/x rw\n" +
		"40 35 0:44 / /var/lib/podctl/pods/" + uid + "/volumes/kubernetes.io~empty-dir/x rw - tmpfs tmpfs rw\n" +
		"39 35 0:43 / /proc rw - proc proc rw\nshort line\n"
	v := kubeletPods{pods: map[types.UID]*v1.Pod{alive: {}}, complete: true, mounts: volumeMounts(table, "/var/lib/kubelet/pods")}
	want := []string{"/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~empty-dir/my cache"}
	if len(v.mounts) != 3 || !reflect.DeepEqual(v.mounts[uid], want) {
		t.Errorf("mounts %q", v.mounts)
	}
	r := &Reader{ofKubelet: v, Now: func() time.Time { return now }}
	found := r.UnlistedEndings([]*Pod{{Metadata: Metadata{UID: listed}, Runtime: &pod.Pod{}}})
	if len(found) != 1 || found[0].UID != uid {
		t.Fatalf("%+v", found)
	}
	f := r.Endings(t.Context(), found)
	if f[0] == nil || f[0].Ownership() != OwnedByKubelet || !slices.Equal(f[0].Ending.Mounts, want) {
		t.Errorf("%+v", f[0])
	}
}

// The kubelet does not name a pod that it terminates. Its own count of such pods
// makes sure of what is inferred from that, if it counts all that were found.
func TestTerminationThatTheKubeletCountsIsObserved(t *testing.T) {
	now := time.Now()
	held := func(uid types.UID) *Pod {
		labels := map[string]string{pod.UIDLabel: string(uid)}
		return &Pod{Metadata: Metadata{UID: uid, Name: string(uid)}, Runtime: &pod.Pod{
			Sandboxes:  []*pod.Sandbox{{ID: "s-" + string(uid), State: pod.Running, Labels: labels}},
			Containers: []*pod.Container{{ID: string(uid), Name: "c", State: pod.Running}},
		}}
	}
	pods := []*Pod{held("a"), held("b"), held("wanted")}
	for undesired, want := range map[int]bool{0: false, 1: false, 2: true, 3: true} {
		view := kubeletPods{pods: map[types.UID]*v1.Pod{"wanted": {}}, complete: true, undesired: undesired}
		c := &Reader{ofKubelet: view, Runtime: noProcesses{}, Now: func() time.Time { return now }}
		found := c.Endings(t.Context(), pods)
		if found[2] != nil {
			t.Errorf("a pod that the kubelet desires: %+v", found[2])
		}
		for _, f := range found[:2] {
			if f.Ending.Counted != want {
				t.Errorf("it counts %d: %+v, want %v", undesired, f.Ending, want)
			}
		}
	}
}

// The kubelet names a static pod that it evicts, or whose deadline has passed, as failed
// while it terminates it.
func TestPodThatTheKubeletNamesAsFailedTerminatesWhileItRuns(t *testing.T) {
	held := func(uid types.UID, state pod.State) *Pod {
		return &Pod{Metadata: Metadata{UID: uid, Name: string(uid)}, Runtime: &pod.Pod{
			Sandboxes:  []*pod.Sandbox{{ID: "s-" + string(uid), State: pod.Running, Labels: map[string]string{pod.UIDLabel: string(uid)}}},
			Containers: []*pod.Container{{ID: string(uid), Name: "c", State: state}},
		}}
	}
	phase := func(phase v1.PodPhase) *v1.Pod { return &v1.Pod{Status: v1.PodStatus{Phase: phase}} }
	view := kubeletPods{complete: true, pods: map[types.UID]*v1.Pod{
		"evicted": phase(v1.PodFailed), "done": phase(v1.PodSucceeded), "exited": phase(v1.PodFailed), "wanted": phase(v1.PodRunning),
	}}
	c := &Reader{ofKubelet: view, Runtime: noProcesses{}, Now: func() time.Time { return now }}
	separate := held("evicted", pod.Running)
	separate.Runtime.UID = separate.UID
	separate.Runtime = separate.Runtime.Separate()
	separate.UID = separate.Runtime.UID
	found := c.Endings(t.Context(), []*Pod{
		separate, held("done", pod.Running), held("exited", pod.Exited), held("wanted", pod.Running),
	})
	for i, want := range []bool{true, true, false, false} {
		if (found[i] != nil) != want {
			t.Errorf("pod %d: %+v, want terminating %v", i, found[i], want)
		}
	}
	if f := found[0]; f != nil && (!f.Ending.KubeletTerminates || f.Ending.Unnamed) {
		t.Errorf("%+v", f)
	}
}

// noProcesses is a runtime that reports none.
type noProcesses struct{ Runtime }

func (noProcesses) ContainerProcess(context.Context, string) (cri.ContainerProcess, error) {
	return cri.ContainerProcess{}, nil
}

func (noProcesses) SandboxDetails(context.Context, string) (cri.Details, error) {
	return cri.Details{}, nil
}
