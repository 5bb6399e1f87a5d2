package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
)

// takeLeftovers removes what a podctl that was killed left on the host, for this
// runtime, of pods that never came to be in the runtime or are not in it any more:
// under the name of a pod that has begun, which keeps every other podctl of this
// runtime from it. held are the pods that the runtime holds.
func (n *Node) takeLeftovers(ctx context.Context, d Desired, held []*pod.Pod) {
	for _, uid := range n.leftovers(d) {
		if n.has(uid) || heldUID(held, uid) {
			continue
		}
		n.takeLeftover(ctx, Desired{Pod: nameOnly(&pod.Pod{UID: uid, Name: d.Pod.Name, Namespace: d.Pod.Namespace})})
	}
}

// leftovers are the UIDs of all pods of the name that have a directory, and
// logs under no other name. Logs alone may be there on purpose.
func (n *Node) leftovers(d Desired) []types.UID {
	ours := strings.TrimSuffix(filepath.Base(n.opts.Facts.LogDirectory(d.Pod)), n.opts.Dirs.Name(d.Pod.UID))
	logs, err := os.ReadDir(n.opts.Facts.LogDir)
	if err != nil {
		return nil // nothing has logs yet
	}
	names := map[string]int{}
	var uids []types.UID
	for _, dir := range logs {
		name := dir.Name()[strings.LastIndex(dir.Name(), "_")+1:]
		names[name]++
		uid, mine := n.opts.Dirs.Has(name)
		if strings.HasPrefix(dir.Name(), ours) && uid != "" && mine {
			uids = append(uids, uid)
		}
	}
	var left []types.UID
	for _, uid := range uids {
		dir := n.opts.Facts.Dir(uid)
		// Podctls of several runtimes may share the root: only a record says whose the
		// directory is.
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && names[n.opts.Dirs.Name(uid)] == 1 && podrecord.Read(dir).Runtime() == n.locks.Runtime() {
			left = append(left, uid)
		}
	}
	return left
}

func heldUID(held []*pod.Pod, uid types.UID) bool {
	for _, p := range held {
		if p.UID == uid {
			return true
		}
	}
	return false
}
