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

// ownChanges are the sandboxes and containers that a node has created and removed within the last
// minute: a runtime may answer with a list of before (https://github.com/kubernetes/kubernetes/issues/23636).
// A node that believed it would create beside itself what it has, and stop again and again what is
// gone. A nil one is empty, and stays so.
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

// keptChanges is how old a list may be.
const keptChanges = time.Minute

// create adds what was created for the pod of the labels.
func (o *ownChanges) create(labels map[string]string, id, sandbox string, now time.Time) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.created, func(_ string, c creation) bool { return now.Sub(c.at) > keptChanges })
	o.created[id] = creation{types.UID(labels[pod.UIDLabel]), sandbox, now}
}

// remove adds what does not exist any more.
func (o *ownChanges) remove(id string, now time.Time) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.removed, func(_ string, at time.Time) bool { return now.Sub(at) > keptChanges })
	o.removed[id] = now
	maps.DeleteFunc(o.created, func(other string, c creation) bool { return other == id || c.sandbox == id })
}

// createdFor returns what was created for a pod, or for all pods, "", by id, with the sandboxes of
// containers.
func (o *ownChanges) createdFor(uid types.UID, now time.Time) map[string]string {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	created := map[string]string{}
	for id, c := range o.created {
		if (uid == "" || c.uid == uid) && now.Sub(c.at) <= keptChanges {
			created[id] = c.sandbox
		}
	}
	return created
}

// isRemoved reports whether one of the ids was removed.
func (o *ownChanges) isRemoved(now time.Time, ids ...string) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(ids, func(id string) bool {
		at, ok := o.removed[id]
		return ok && now.Sub(at) <= keptChanges
	})
}

// lists are the sandboxes and containers that a runtime listed.
type lists struct {
	sandboxes  []sandboxEntry
	containers []containerEntry
}

// withOwnChanges returns lists without what this client removed, and with what it had created before
// they were made and what still exists, as its status says. same reports whether nothing differs.
func (c *Client) withOwnChanges(ctx context.Context, created map[string]string, l lists) (_ lists, same bool, err error) {
	now, listed := c.now(), len(l.sandboxes)+len(l.containers)
	isRemovedSandbox := func(s sandboxEntry) bool { return c.changes.isRemoved(now, s.ID) }
	isRemovedContainer := func(k containerEntry) bool { return c.changes.isRemoved(now, k.ID, k.SandboxID) }
	if slices.ContainsFunc(l.sandboxes, isRemovedSandbox) || slices.ContainsFunc(l.containers, isRemovedContainer) {
		l.sandboxes = slices.DeleteFunc(slices.Clone(l.sandboxes), isRemovedSandbox)
		l.containers = slices.DeleteFunc(slices.Clone(l.containers), isRemovedContainer)
	}
	same = len(l.sandboxes)+len(l.containers) == listed
	for _, s := range l.sandboxes {
		delete(created, s.ID)
	}
	for _, k := range l.containers {
		delete(created, k.ID)
	}
	for id, sandbox := range created {
		err := c.addUnlisted(ctx, &l, id, sandbox)
		switch {
		case errors.Is(err, ErrNotFound):
			c.changes.remove(id, now)
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
