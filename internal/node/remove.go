package node

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/logrotate"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// remover removes what pods leave behind in the runtime and on the host.
type remover struct {
	pods     *podTable
	rt       Runtime
	statuses *statuses
	pleg     *pleg.PLEG
	sync     *podsync.Syncer
	volumes  Volumes
	cgroups  Cgroups
	facts    *render.Node
	dirs     *poddir.Dirs
	keepLogs bool

	background *sync.WaitGroup
	wake       wakeup
	log        *slog.Logger

	mu sync.Mutex
	// ended are the results of removals that the loop has not taken yet.
	ended map[types.UID]error
}

// takeEnded returns the results of the removals that have ended since the last call.
func (r *remover) takeEnded() map[types.UID]error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.ended
	r.ended = map[types.UID]error{}
	return ended
}

// startRemoval removes the leftovers of a pod that no worker knows, in a goroutine
// of its own; the loop takes the result.
func (r *remover) startRemoval(ctx context.Context, uid types.UID) {
	r.pods.mu.Lock()
	e := r.pods.get(uid)
	life := e.Desired
	r.pods.mu.Unlock()
	r.background.Go(func() {
		err := r.remove(ctx, e, life.Pod)
		if err != nil {
			r.log.Warn("remove pod", "pod", life.FullName(), "uid", uid, "err", err)
		}
		r.mu.Lock()
		r.ended[uid] = err
		r.mu.Unlock()
		if err == nil {
			r.wake.signal()
		}
	})
}

// remove removes all leftovers of a pod that no worker knows any more: not
// every pod comes to be cleaned up. The pod is that of the life that ends. It may
// be repeated.
func (r *remover) remove(ctx context.Context, e *entry, p *v1.Pod) error {
	if err := r.volumes.Unmount(ctx, p.UID); err != nil {
		return err
	}
	if err := r.cgroups.Remove(ctx, p.UID); err != nil {
		return err
	}
	return r.removeDown(ctx, e, p)
}

// removeDown removes the leftovers of a pod that is down and cleaned up: dead
// containers and sandboxes, its directory, its logs. It may be repeated.
func (r *remover) removeDown(ctx context.Context, e *entry, p *v1.Pod) error {
	uid := p.UID
	st, err := r.statuses.read(ctx, uid)
	if err != nil {
		return event.At(event.LayerStatus, err)
	}
	// What the hints of its end would show, the next full relist does, too.
	release := r.pleg.Hold(uid)
	if err := r.sync.Remove(ctx, st); err != nil {
		release()
		return err
	}
	// The logs go before the record in the directory, which says whose they are.
	if !r.keepLogs {
		if err := os.RemoveAll(r.facts.LogDirectory(p)); err != nil {
			return event.At(event.LayerHost, err)
		}
	}
	e.recording.Lock() // so that no record is put into a directory that is removed
	err = r.volumes.RemovePod(ctx, uid)
	e.recording.Unlock()
	if err != nil {
		return event.At(event.LayerHost, err)
	}
	r.dirs.Forget(uid)
	return nil
}

// deadKept is how many dead containers of one name a pod keeps: the kubelet's default of
// --maximum-dead-containers-per-container (MaxPerPodContainer in pkg/kubelet/container/container_gc.go).
const deadKept = 1

// removeOldDead removes the older dead containers of the name that has just died
// (pkg/kubelet/pod_container_deletor.go).
func (r *remover) removeOldDead(ctx context.Context, ev pleg.Event) {
	if ev.Status == nil || ev.Container == "" {
		return
	}
	if dead := deadContainers(ev.Status, ev.Container, deadKept); len(dead) > 0 {
		r.background.Go(func() { r.removeDead(ctx, dead, r.keepLogs) })
	}
}

// deadContainers are the dead containers of a name, "" for all, but the newest ones.
func deadContainers(st *pod.Status, name string, keep int) []*pod.ContainerStatus {
	var dead []*pod.ContainerStatus
	for _, c := range st.Containers { // newest first
		if (name == "" || c.Name == name) && c.State == pod.Exited {
			dead = append(dead, c)
		}
	}
	return dead[min(keep, len(dead)):]
}

// removeDead removes dead containers and, unless these are kept, their logs.
func (r *remover) removeDead(ctx context.Context, dead []*pod.ContainerStatus, keepLogs bool) {
	for _, c := range dead {
		if err := r.rt.RemoveContainer(ctx, c.ID); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.log.Warn("remove dead container", "container", c.Name, "id", c.ID, "err", err)
			continue
		}
		if !keepLogs && c.LogPath != "" {
			_ = logrotate.Remove(c.LogPath) // goes with the pod at the latest
		}
	}
}
