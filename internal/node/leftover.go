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
// runtime from it.
func (n *Node) takeLeftovers(ctx context.Context, d Desired, p *pass) {
	for _, uid := range n.leftovers(d, p.logs()) {
		if n.pods.has(uid) || p.holds()[uid] || n.othersMayHave(p, uid) {
			continue
		}
		n.takeLeftover(ctx, Desired{Pod: nameOnly(&pod.Pod{UID: uid, Name: d.Pod.Name, Namespace: d.Pod.Namespace})})
	}
}

// leftovers are the UIDs of all pods of the name that have a directory, and
// logs under no other name. Logs alone may be there on purpose.
func (n *Node) leftovers(d Desired, logs logDirs) []types.UID {
	ours := strings.TrimSuffix(filepath.Base(n.opts.Facts.LogDirectory(d.Pod)), n.opts.Dirs.Name(d.Pod.UID))
	var left []types.UID
	for _, name := range logs.of[ours] {
		uid, mine := n.opts.Dirs.Has(name)
		if uid == "" || !mine || logs.users[name] != 1 {
			continue
		}
		dir := n.opts.Facts.Dir(uid)
		// Podctls of several runtimes may share the root: only a record says whose the
		// directory is.
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && podrecord.Read(dir).Runtime() == n.locks.Runtime() {
			left = append(left, uid)
		}
	}
	return left
}
