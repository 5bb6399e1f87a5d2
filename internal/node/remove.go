package node

import (
	"context"
	"errors"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/logrotate"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// startRemoval removes the leftovers of a pod that no worker knows, in a goroutine
// of its own; the loop takes the result.
func (n *Node) startRemoval(ctx context.Context, uid types.UID) {
	n.pods.mu.Lock()
	e := n.pods.get(uid)
	life := e.Desired
	n.pods.mu.Unlock()
	n.removals.Go(func() {
		err := n.remove(ctx, e, life.Pod)
		if err != nil {
			n.log.Warn("remove pod", "pod", life.FullName(), "uid", uid, "err", err)
		}
		n.pods.mu.Lock()
		n.removed[uid] = err
		n.pods.mu.Unlock()
		if err == nil {
			n.poke()
		}
	})
}

// remove removes all leftovers of a pod that no worker knows any more: not
// every pod comes to be cleaned up. The pod is that of the life that ends. It may
// be repeated.
func (n *Node) remove(ctx context.Context, e *entry, p *v1.Pod) error {
	if err := n.opts.Volumes.Unmount(ctx, p.UID); err != nil {
		return err
	}
	if err := n.opts.Cgroups.Remove(ctx, p.UID); err != nil {
		return err
	}
	return n.removeDown(ctx, e, p)
}

// removeDown removes the leftovers of a pod that is down and cleaned up: dead
// containers and sandboxes, its directory, its logs. It may be repeated.
func (n *Node) removeDown(ctx context.Context, e *entry, p *v1.Pod) error {
	uid := p.UID
	st, err := n.statusOf(ctx, uid)
	if err != nil {
		return event.At(event.LayerStatus, err)
	}
	// What the hints of its end would show, the next full relist does, too.
	release := n.pleg.Hold(uid)
	if err := n.sync.Remove(ctx, st); err != nil {
		release()
		return err
	}
	// The logs go before the record in the directory, which says whose they are.
	if !n.opts.KeepLogs {
		if err := os.RemoveAll(n.opts.Facts.LogDirectory(p)); err != nil {
			return event.At(event.LayerHost, err)
		}
	}
	e.recording.Lock() // so that no record is put into a directory that is removed
	err = n.opts.Volumes.RemovePod(ctx, uid)
	e.recording.Unlock()
	if err != nil {
		return event.At(event.LayerHost, err)
	}
	n.opts.Dirs.Forget(uid)
	return nil
}

// deadKept is how many dead containers of one name a pod keeps
// (MaxPerPodContainer in pkg/kubelet/apis/config).
const deadKept = 1

// prune removes the older dead containers of the name that has just died
// (pkg/kubelet/pod_container_deletor.go).
func (n *Node) prune(ctx context.Context, ev pleg.Event) {
	if ev.Status == nil || ev.Container == "" {
		return
	}
	if dead := deadBeyond(ev.Status, ev.Container, deadKept); len(dead) > 0 {
		n.removals.Go(func() { n.removeDead(ctx, dead, n.opts.KeepLogs) })
	}
}

// deadBeyond are the dead containers of a name, "" for all, but the newest ones.
func deadBeyond(st *pod.Status, name string, keep int) []*pod.ContainerStatus {
	var dead []*pod.ContainerStatus
	for _, c := range st.Containers { // newest first
		if (name == "" || c.Name == name) && c.State == pod.Exited {
			dead = append(dead, c)
		}
	}
	return dead[min(keep, len(dead)):]
}

// removeDead removes dead containers and, unless these are kept, their logs.
func (n *Node) removeDead(ctx context.Context, dead []*pod.ContainerStatus, keepLogs bool) {
	for _, c := range dead {
		if err := n.rt.RemoveContainer(ctx, c.ID); err != nil && !errors.Is(err, os.ErrNotExist) {
			n.log.Warn("remove dead container", "container", c.Name, "id", c.ID, "err", err)
			continue
		}
		if !keepLogs && c.LogPath != "" {
			_ = logrotate.Remove(c.LogPath) // goes with the pod at the latest
		}
	}
}

// Drain terminates all pods, as if no source desired any, and returns once nothing
// is left of them or ctx ends. grace, in seconds, shortens theirs; nil leaves
// it. Called again, also while it runs, with less it shortens it further.
func (n *Node) Drain(ctx context.Context, grace *int64) error {
	n.pods.mu.Lock()
	var hurry []*v1.Pod
	if n.pods.drain == nil {
		n.pods.drain = &drain{grace: grace}
	} else {
		for _, e := range n.pods.entries {
			if e.hasWorker() {
				hurry = append(hurry, e.Pod)
			}
		}
		n.pods.drain = &drain{grace: least(n.pods.drain.grace, grace)}
	}
	n.pods.mu.Unlock()
	n.stop(hurry, grace)
	n.poke()
	return n.watchers.waitUntil(ctx, func() bool {
		n.pods.mu.Lock()
		defer n.pods.mu.Unlock()
		return n.pods.unspared() == 0
	})
}

// drain says that nothing is desired any more.
type drain struct {
	// grace in seconds shortens that of the pods; nil leaves it.
	grace *int64
	// spare reports which pods are left as they are for now; nil is none.
	spare func(*entry) bool
}

func least(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
