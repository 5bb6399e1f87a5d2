package node

import (
	"context"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
)

// takeOrphans removes the pod directories that this very instance left behind,
// on this runtime, when it was killed while it stopped a pod. Other podctls may
// have directories below the same root: only the record in it says whose one is.
func (n *Node) takeOrphans(ctx context.Context, p *pass, desired map[types.UID]Desired) {
	dirs, err := n.opts.Volumes.PodDirs()
	if err != nil {
		n.log.Warn("look for orphaned pod directories", "err", err)
		return
	}
	for _, dir := range dirs {
		uid, ours := n.opts.Dirs.Has(dir)
		if _, same := desired[uid]; same || !ours || n.pods.has(uid) || p.holds()[uid] {
			continue
		}
		rec := podrecord.Read(filepath.Join(n.opts.Facts.PodsDir, dir))
		if rec.Owner != n.ownerTag() || rec.Name == "" {
			continue
		}
		if n.othersMayHave(p, uid) {
			continue
		}
		v := nameOnly(&pod.Pod{UID: uid, Name: rec.Name, Namespace: rec.Namespace})
		if n.locks.Claim(pod.FullNameOf(v)) != nil {
			continue // another podctl has the name by now
		}
		n.takeLeftover(ctx, Desired{Pod: v})
	}
}

// othersMayHave reports whether another podctl process has the pod, or may have it: one
// that starts a pod has its directory before the runtime lists it, and where its run
// directory is another one, its lock of the name does not count here.
func (n *Node) othersMayHave(p *pass, uid types.UID) bool {
	others, err := p.others()
	if err != nil {
		n.log.Debug("remove leftover files later: other podctl processes may have the pod", "uid", uid, "err", err)
		return true
	}
	return others[uid] != ""
}

// takeLeftover removes what a pod left on the host, whose name is held.
func (n *Node) takeLeftover(ctx context.Context, d Desired) {
	n.pods.mu.Lock()
	var w work
	if n.pods.drain == nil {
		w = n.pods.step(d.UID(), lifecycle.Leftover{Desired: d})
		n.pods.get(d.UID()).touched = time.Now()
	}
	n.pods.mu.Unlock()
	n.carryOut(ctx, w)
	n.release(d.FullName())
}

// ownerTag is the owner of this node's records.
func (n *Node) ownerTag() string { return podrecord.OwnerTag(n.opts.Instance, n.locks.Runtime()) }
