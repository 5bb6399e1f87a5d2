package cri

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// ownChanges are the sandboxes and containers that a node has created and removed within changeTTL.
// A runtime may answer with a stale list (https://github.com/kubernetes/kubernetes/issues/23636): a
// node that believed it would create a second sandbox beside the first, and stop again and again
// what is gone. A nil *ownChanges is empty and ignores changes. It is safe for concurrent use.
type ownChanges struct {
	mu      sync.Mutex
	created map[string]creation
	// removed is when the removal of an id was confirmed.
	removed map[string]time.Time
}

// creation is when a sandbox or a container was created, and for which pod.
type creation struct {
	uid     types.UID
	sandbox string // that of a container; "" for a sandbox
	at      time.Time
}

func newOwnChanges() *ownChanges {
	return &ownChanges{created: map[string]creation{}, removed: map[string]time.Time{}}
}

// changeTTL is how long a change is kept: the age up to which a list is corrected.
const changeTTL = time.Minute

// noteCreated records that a sandbox, or a container in a sandbox, was created for the pod with the
// labels.
func (o *ownChanges) noteCreated(labels map[string]string, id, sandbox string, now time.Time) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.created[id] = creation{types.UID(labels[pod.UIDLabel]), sandbox, now}
}

// noteRemoved records that a sandbox, with its containers, or a container does not exist any more.
func (o *ownChanges) noteRemoved(id string, now time.Time) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removed[id] = now
	maps.DeleteFunc(o.created, func(other string, c creation) bool { return other == id || c.sandbox == id })
}

// forget drops the changes that are older than changeTTL. o.mu is held.
func (o *ownChanges) forget(now time.Time) {
	maps.DeleteFunc(o.created, func(_ string, c creation) bool { return now.Sub(c.at) > changeTTL })
	maps.DeleteFunc(o.removed, func(_ string, at time.Time) bool { return now.Sub(at) > changeTTL })
}

// createdFor returns the sandboxes and containers that were created for a pod, or for all pods if
// uid is "". It maps the id of a container to that of its sandbox, and the id of a sandbox to "".
func (o *ownChanges) createdFor(uid types.UID, now time.Time) map[string]string {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget(now)
	created := map[string]string{}
	for id, c := range o.created {
		if uid == "" || c.uid == uid {
			created[id] = c.sandbox
		}
	}
	return created
}

// removedIDs returns what was removed.
func (o *ownChanges) removedIDs(now time.Time) map[string]time.Time {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget(now)
	return maps.Clone(o.removed)
}

// lists are the sandboxes and containers that a runtime listed.
type lists struct {
	sandboxes  []sandboxEntry
	containers []containerEntry
}

// withOwnChanges returns lists without what this client has removed, and with those of created that
// the runtime does not list but reports a status of. It changes created. same reports whether the
// result equals l; the error is that of a status.
func (c *Client) withOwnChanges(ctx context.Context, created map[string]string, l lists) (_ lists, same bool, err error) {
	now, listed := c.now(), len(l.sandboxes)+len(l.containers)
	// A node that has changed nothing lately does not look through its lists.
	if removed := c.changes.removedIDs(now); len(removed) > 0 {
		has := func(id string) bool { _, ok := removed[id]; return ok }
		l.sandboxes = without(l.sandboxes, func(s sandboxEntry) bool { return has(s.ID) })
		l.containers = without(l.containers, func(k containerEntry) bool { return has(k.ID) || has(k.SandboxID) })
	}
	same = len(l.sandboxes)+len(l.containers) == listed
	if len(created) > 0 {
		for _, s := range l.sandboxes {
			delete(created, s.ID)
		}
		for _, k := range l.containers {
			delete(created, k.ID)
		}
	}
	for id, sandbox := range created {
		err := c.addUnlisted(ctx, &l, id, sandbox)
		switch {
		case errors.Is(err, ErrNotFound):
			c.changes.noteRemoved(id, now)
		case err != nil:
			return lists{}, false, err
		default:
			same = false
		}
	}
	if !same {
		c.log.Debug("the list of the runtime is older than what was created or removed")
	}
	return l, same, nil
}

// without returns a list without some entries; it is the list itself if it has none of them.
func without[E any](list []E, drop func(E) bool) []E {
	if !slices.ContainsFunc(list, drop) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// addUnlisted adds a sandbox, or a container in a sandbox, as its status shows it.
func (c *Client) addUnlisted(ctx context.Context, l *lists, id, sandbox string) error {
	if sandbox == "" {
		r, err := c.sandboxStatus(ctx, id)
		if err != nil {
			return err
		}
		s := r.Status
		l.sandboxes = append(slices.Clip(l.sandboxes), toSandboxEntry(&runtimeapi.PodSandbox{
			Id: id, Metadata: s.Metadata, State: s.State, CreatedAt: s.CreatedAt, Labels: s.Labels, Annotations: s.Annotations,
			RuntimeHandler: s.RuntimeHandler,
		}))
		return nil
	}
	r, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return err
	}
	s := r.GetStatus()
	if s == nil {
		return answerError("ContainerStatus", pod.ShortID(id), "the runtime answered without a status")
	}
	l.containers = append(slices.Clip(l.containers), toContainerEntry(&runtimeapi.Container{
		Id: id, PodSandboxId: sandbox, Metadata: s.GetMetadata(), Image: s.GetImage(), ImageRef: s.GetImageRef(), ImageId: s.GetImageId(),
		State: s.GetState(), CreatedAt: s.GetCreatedAt(), Labels: s.GetLabels(), Annotations: s.GetAnnotations(),
	}))
	return nil
}
