package diagnose

import (
	"reflect"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/pod"
)

func TestKubeletTerminatesWhatItDeletesOrNoLongerNames(t *testing.T) {
	grace := int64(60)
	deleted := metav1.NewTime(now.Add(time.Minute))
	pods := map[types.UID]*v1.Pod{
		"wanted":  {},
		"deleted": {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &grace}},
	}
	settled, starting := KubeletView{pods: pods, settled: true}, KubeletView{pods: pods}
	for uid, want := range map[types.UID][2]bool{"wanted": {false, false}, "deleted": {true, true}, "unnamed": {true, false}} {
		if got := [2]bool{settled.terminates(uid), starting.terminates(uid)}; got != want {
			t.Errorf("%s: settled %v, starting %v, want %v", uid, got[0], got[1], want)
		}
	}
	if (KubeletView{}).terminates("any") {
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
	v := KubeletView{pods: map[types.UID]*v1.Pod{alive: {}}, settled: true, mounts: volumeMounts(table, "/var/lib/kubelet/pods")}
	want := []string{"/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~empty-dir/my cache"}
	if len(v.mounts) != 3 || !reflect.DeepEqual(v.mounts[uid], want) {
		t.Errorf("mounts %q", v.mounts)
	}
	found := v.unlisted([]*inventory.Pod{{UID: listed, Runtime: &pod.Pod{}}})
	if len(found) != 1 || found[0].UID != uid {
		t.Fatalf("%+v", found)
	}
	f := Collector{Kubelet: v, Now: func() time.Time { return now }}.Terminating(t.Context(), found)
	if f[0] == nil || f[0].Owner != OwnerKubelet || Judge(*f[0], now).Layer != LayerVolume {
		t.Errorf("%+v", f[0])
	}
}
