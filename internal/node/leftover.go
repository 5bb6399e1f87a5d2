package node

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
)

// leftoverFinder finds what a podctl that was killed left on the host, for this runtime:
// files of pods that never came to be in the runtime or are not in it any more.
type leftoverFinder struct {
	pods    *podTable
	facts   *render.Node
	dirs    *poddir.Dirs
	volumes Volumes
	locks   *owner.Locks
	records *records
	// others returns the pods of other podctl processes: see Options.OtherPods.
	others func(ctx context.Context) (map[types.UID]string, error)
	log    *slog.Logger
}

// ofName returns the leftovers under the name of a pod that has begun: its lock keeps
// every other podctl of this runtime from them.
func (f *leftoverFinder) ofName(d Desired, c *reconcileCache) []Desired {
	var found []Desired
	for _, uid := range f.dirsOf(d, c) {
		if f.pods.has(uid) || c.listed()[uid] || f.othersMayHave(c, uid) {
			continue
		}
		found = append(found, Desired{Pod: nameOnly(&pod.Pod{UID: uid, Name: d.Pod.Name, Namespace: d.Pod.Namespace})})
	}
	return found
}

// dirsOf returns the UIDs of all pods of the name that have a directory: one whose record
// has the name, or one that has logs under the name and under no other. Logs alone may be
// there on purpose.
func (f *leftoverFinder) dirsOf(d Desired, c *reconcileCache) []types.UID {
	logs := c.logs()
	prefix := strings.TrimSuffix(filepath.Base(f.facts.LogDirectory(d.Pod)), f.dirs.Name(d.Pod.UID))
	var uids []types.UID
	for _, u := range c.unknown() {
		if u.record.Name == d.Pod.Name && u.record.Namespace == d.Pod.Namespace && u.record.Runtime() == f.locks.Runtime() {
			uids = append(uids, u.uid)
		}
	}
	for _, name := range logs.of[prefix] {
		uid, ours := f.dirs.Has(name)
		if uid == "" || !ours || logs.users[name] != 1 || slices.Contains(uids, uid) {
			continue
		}
		dir := f.facts.Dir(uid)
		// Podctl processes of several runtimes may share the root: only a record says
		// which runtime the directory belongs to.
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && poddir.ReadRecord(dir).Runtime() == f.locks.Runtime() {
			uids = append(uids, uid)
		}
	}
	return uids
}

// ofInstance returns the leftovers of this very instance, on this runtime, from when it
// was killed while it stopped a pod. The names of those that it returns are claimed.
// Other podctl processes may have directories below the same root: only the record in a
// directory says which one it belongs to.
func (f *leftoverFinder) ofInstance(c *reconcileCache, desired map[types.UID]Desired) []Desired {
	var found []Desired
	for _, u := range c.unknown() {
		uid, rec := u.uid, u.record
		if _, same := desired[uid]; same || f.pods.has(uid) {
			continue
		}
		if rec.Owner != f.records.ownerTag() || rec.Name == "" {
			continue
		}
		if f.othersMayHave(c, uid) {
			continue
		}
		v := nameOnly(&pod.Pod{UID: uid, Name: rec.Name, Namespace: rec.Namespace})
		if f.locks.Claim(pod.FullNameOf(v)) != nil {
			continue // another podctl has the name by now
		}
		found = append(found, Desired{Pod: v})
	}
	return found
}

// othersMayHave reports whether another podctl process has the pod, or may have it: one
// that starts a pod has its directory before the runtime lists it, and where its run
// directory is another one, its lock of the name does not count here.
func (f *leftoverFinder) othersMayHave(c *reconcileCache, uid types.UID) bool {
	others, err := c.others()
	if err != nil {
		f.log.Debug("remove leftover files later: other podctl processes may have the pod", "uid", uid, "err", err)
		return true
	}
	return others[uid] != ""
}

// unknownDir is the directory of a pod of this runtime that neither the node nor the runtime
// has.
type unknownDir struct {
	uid    types.UID
	record poddir.Record
}

func (f *leftoverFinder) readUnknown(listed map[types.UID]bool) []unknownDir {
	dirs, err := f.volumes.PodDirs()
	if err != nil {
		f.log.Warn("look for orphaned pod directories", "err", err)
		return nil
	}
	var unknown []unknownDir
	for _, dir := range dirs {
		if uid, ours := f.dirs.Has(dir); ours && !f.pods.has(uid) && !listed[uid] {
			unknown = append(unknown, unknownDir{uid, poddir.ReadRecord(filepath.Join(f.facts.PodsDir, dir))})
		}
	}
	return unknown
}

// reconcileCache caches what one reconcile reads, so that each source is read once.
type reconcileCache struct {
	// listed are the pods that the runtime holds.
	listed func() map[types.UID]bool
	// logs are the log directories of pods.
	logs func() logDirs
	// unknown are the directories of pods that nobody knows here.
	unknown func() []unknownDir
	// others are the pods of other podctl processes: of all that are in logs and unknown, at
	// least.
	others func() (map[types.UID]string, error)
}

// newCache returns an empty cache for a reconcile that listed these pods.
func (f *leftoverFinder) newCache(ctx context.Context, listed []*pod.Pod) *reconcileCache {
	c := &reconcileCache{
		logs:   sync.OnceValue(func() logDirs { return readLogDirs(f.facts.LogDir) }),
		listed: sync.OnceValue(func() map[types.UID]bool { return pod.UIDs(listed) }),
	}
	c.unknown = sync.OnceValue(func() []unknownDir { return f.readUnknown(c.listed()) })
	c.others = sync.OnceValues(func() (map[types.UID]string, error) {
		c.logs()
		c.unknown()
		return f.others(ctx)
	})
	return c
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
