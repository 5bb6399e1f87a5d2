package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
)

// unknowns are the running pods that no worker knows and nobody of this podctl
// desires: those that podctl did not create, and those of other instances. A
// kubelet ends them (HandlePodCleanups in pkg/kubelet/kubelet_pods.go); podctl
// does if it is told to (Options.KillUnknown), and then never those of an
// instance that lives, whose names it cannot claim. Pure.
func unknowns(held []*pod.Pod, known func(types.UID) bool, want map[types.UID]Desired, instance string) []*pod.Pod {
	var found []*pod.Pod
	for _, p := range held {
		_, desired := want[p.UID]
		owner := ownerOf(p)
		if !p.Running() || known(p.UID) || owner == instance || desired && owner != "" {
			continue
		}
		found = append(found, p)
	}
	return found
}

// addUnknown takes what is to be ended because nobody knows it into what was
// found. A desired pod whose name it has then waits for its end, instead of
// being rejected.
func (f *found) addUnknown(pods []*pod.Pod) {
	in := map[types.UID]bool{}
	for _, p := range f.end {
		in[p.UID] = true
	}
	for _, p := range pods {
		if !in[p.UID] {
			f.end = append(f.end, p)
		}
		for rival, other := range f.foreign {
			if other.UID == p.UID {
				delete(f.foreign, rival)
				f.unread[rival] = true // until it is gone
			}
		}
	}
}

// takeOrphans makes entries, to be removed, of the pod directories that this
// very instance left behind, on this runtime, when it was killed while it ended a
// pod. Others' directories may be below the same root: only the record in it
// tells whose one is.
func (n *Node) takeOrphans(held []*pod.Pod, want map[types.UID]Desired) {
	dirs, err := os.ReadDir(n.opts.Facts.PodsDir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			n.log.Warn("look for orphaned pod directories", "err", err)
		}
		return
	}
	for _, dir := range dirs {
		uid := types.UID(dir.Name())
		if _, desired := want[uid]; desired || !dir.IsDir() || heldUID(held, uid) || n.has(uid) {
			continue
		}
		rec := podrecord.Read(filepath.Join(n.opts.Facts.PodsDir, dir.Name()))
		if rec.Owner != n.ownerTag() || rec.Name == "" {
			continue
		}
		v := nameOnly(&pod.Pod{UID: uid, Name: rec.Name, Namespace: rec.Namespace})
		if n.claim(pod.FullNameOf(v)) != nil {
			continue // another podctl has the name by now
		}
		if n.admit(&entry{want: Desired{Pod: v}, touched: time.Now()}) {
			n.poke()
		}
	}
}

// ownerTag is the owner of this node's records.
func (n *Node) ownerTag() string { return podrecord.OwnerTag(n.opts.Instance, n.locks.Runtime()) }
