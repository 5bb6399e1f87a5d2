package view

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// kubeletPods is what the kubelet that uses the runtime says about its pods. The
// zero value is no kubelet: it terminates nothing.
type kubeletPods struct {
	pods map[types.UID]*v1.Pod
	// complete: the kubelet has answered with all of its pods, so that it
	// terminates those that it does not name.
	complete bool
	// undesired is how many such pods it counts, 0 if that cannot be read.
	undesired int
	// mounts are the mount points of volumes by pod, in the kubelet's view.
	mounts map[types.UID][]string
}

// SetKubelet sets what is known of the kubelet of the runtime, nil if it was not asked. An error
// means that not all that it terminates is known; it is a *kubelet.AbsentError if none uses the
// runtime: what an earlier one began to terminate shows in the processes only.
func (r *Reader) SetKubelet(k *owners.Kubelet) error {
	r.kubelet, r.ofKubelet, r.kubeletErr = k, kubeletPods{}, nil
	if k != nil {
		r.ofKubelet, r.kubeletErr = readKubelet(k, r.Procs)
	}
	return r.kubeletErr
}

func readKubelet(k *owners.Kubelet, fs proc.FS) (kubeletPods, error) {
	switch {
	case k.FindErr != nil:
		return kubeletPods{}, k.FindErr
	case k.Process == nil:
		return kubeletPods{}, &kubelet.AbsentError{}
	}
	p, a := k.Process, k.Answer
	v := kubeletPods{}
	if table, err := fs.MountTable(p.PID); err == nil && p.PodDirs() != "" {
		v.mounts = volumeMounts(table, p.PodDirs())
	}
	if a.Err != nil {
		return v, a.Err
	}
	v.pods, v.complete, v.undesired = map[types.UID]*v1.Pod{}, a.Incomplete == nil, a.Undesired
	for _, p := range a.Pods {
		v.pods[p.UID] = p
	}
	return v, a.Incomplete
}

// terminates reports whether the kubelet has been told to terminate the pod: it
// names a deletion time, or no longer names the pod.
func (v kubeletPods) terminates(uid types.UID) bool {
	p, named := v.pods[uid]
	if named {
		return p.DeletionTimestamp != nil
	}
	return v.complete
}

// finished reports whether the kubelet names the pod as failed or succeeded: it then
// terminates what still runs of it.
func (v kubeletPods) finished(uid types.UID) bool {
	p := v.pods[uid]
	return p != nil && pod.IsTerminal(p.Status.Phase)
}

// names reports whether the kubelet names the pod.
func (v kubeletPods) names(uid types.UID) bool { return v.pods[uid] != nil }

// deletion returns when the deletion of a pod was requested and its grace period
// in seconds; zero and nil if the kubelet does not say.
func (v kubeletPods) deletion(uid types.UID) (requested time.Time, grace *int64) {
	p := v.pods[uid]
	if p == nil || p.DeletionTimestamp == nil {
		return time.Time{}, nil
	}
	seconds := int64(0)
	if p.DeletionGracePeriodSeconds != nil {
		seconds = *p.DeletionGracePeriodSeconds
	}
	return p.DeletionTimestamp.Add(-time.Duration(seconds) * time.Second), &seconds
}

// UnlistedEndings returns pods that are terminating although the runtime lists nothing
// of them: those of a kubelet with a volume that is still mounted.
func (r *Reader) UnlistedEndings(listed []*Pod) []*Pod {
	v, known := r.ofKubelet, map[types.UID]bool{}
	for _, p := range listed {
		known[p.GivenUID()] = true
	}
	var found []*Pod
	for uid := range v.mounts {
		if known[uid] || !v.terminates(uid) {
			continue
		}
		p := &Pod{Metadata: Metadata{UID: uid, Name: string(uid)}, Verdict: owners.Verdict{Relation: owners.Terminates, Kind: owners.ByKubelet}}
		if named := v.pods[uid]; named != nil {
			p.Namespace, p.Name = named.Namespace, named.Name
		}
		found = append(found, p)
	}
	return found
}

// volumeMounts returns the mount points of volumes below the directory of the
// pods' directories, by pod. Other kubelets and podctl have directories of their
// own.
func volumeMounts(table, podDirs string) map[types.UID][]string {
	mounts := map[types.UID][]string{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := unescape.Replace(fields[4])
		path, below := strings.CutPrefix(point, podDirs+"/")
		uid, part, _ := strings.Cut(path, "/")
		if below && strings.HasPrefix(part, "volume") {
			mounts[types.UID(uid)] = append(mounts[types.UID(uid)], point)
		}
	}
	return mounts
}

// unescape undoes what the kernel escapes in a mount table.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
