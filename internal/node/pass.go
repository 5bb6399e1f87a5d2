package node

import (
	"context"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// pass is what one reconcile has found out, each of it once, however many pods ask.
type pass struct {
	// holds are the pods that the runtime holds.
	holds func() map[types.UID]bool
	// logs are the log directories of pods.
	logs func() logDirs
	// others are the pods of other podctl processes: of all that are in logs, at least,
	// and of all directories that were read before.
	others func() (map[types.UID]string, error)
}

func (n *Node) newPass(ctx context.Context, held []*pod.Pod) *pass {
	logs := sync.OnceValue(func() logDirs { return readLogDirs(n.opts.Facts.LogDir) })
	return &pass{
		logs: logs,
		others: sync.OnceValues(func() (map[types.UID]string, error) {
			logs()
			return n.opts.OtherPods(ctx)
		}),
		holds: sync.OnceValue(func() map[types.UID]bool { return pod.UIDs(held) }),
	}
}

// logDirs are the log directories below one, whose names are
// NAMESPACE_NAME_DIRECTORY: see render.Node.LogDirectory.
type logDirs struct {
	// of are the directories' names of each NAMESPACE_NAME_, users how many pods use
	// each name.
	of    map[string][]string
	users map[string]int
}

// readLogDirs reads them; none if that cannot be.
func readLogDirs(dir string) logDirs {
	l := logDirs{of: map[string][]string{}, users: map[string]int{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l // nothing has logs yet
	}
	for _, e := range entries {
		i := strings.LastIndex(e.Name(), "_") + 1
		name, dir := e.Name()[:i], e.Name()[i:]
		l.of[name] = append(l.of[name], dir)
		l.users[dir]++
	}
	return l
}
