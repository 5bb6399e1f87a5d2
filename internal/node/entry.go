package node

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
	"github.com/podctl/podctl/internal/worker"
)

// entry is a pod that the node has to do with: desired, or on its way out.
// It is guarded by Node.mu.
type entry struct {
	// want is the spec that the pod runs by, and its document.
	want Desired
	// desired: some source wants this very pod.
	desired bool
	// fresh: the pod is created again after this life has ended, so what this
	// life leaves behind must be gone before.
	fresh bool
	// adopted: the runtime held it before podctl knew it.
	adopted bool
	// rejected is why it may not start, nil if it may.
	rejected error
	stage    worker.Phase
	status   v1.PodStatus
	// record is what of it outlives the process beside the runtime. It changes
	// together with its file, under recording, which is taken before Node.mu.
	record    podrecord.Record
	recording sync.Mutex
	// touched is when the last operation that may have changed something in
	// the runtime ended: a status must be newer to show what it did.
	touched time.Time
	// deadline is when the pod's active deadline is over, and alarm wakes it
	// then; zero and nil without one.
	deadline time.Time
	alarm    *time.Timer
	// removing: a goroutine is removing what the pod left behind; clean: that
	// has been done.
	removing, clean bool
}

// leaving tells whether the entry is to go once its worker is done with it.
func (e *entry) leaving() bool { return !e.desired || e.fresh }

func (e *entry) uid() types.UID   { return e.want.Pod.UID }
func (e *entry) fullName() string { return pod.FullNameOf(e.want.Pod) }

// entryOf returns the entry, nil if there is none. n.mu is held.
func (n *Node) entryOf(uid types.UID) *entry { return n.entries[uid] }

// nameInUse tells whether any entry has the full name. n.mu is held.
func (n *Node) nameInUse(fullName string) bool {
	for _, e := range n.entries {
		if e.rejected == nil && e.fullName() == fullName {
			return true
		}
	}
	return false
}

// admit makes an entry of a pod that has none. It refuses once all pods are
// to go, so that Drain waits for everything that was let in.
func (n *Node) admit(e *entry) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.draining {
		n.entries[e.uid()] = e
	}
	return !n.draining
}

// drop forgets an entry whose pod has left nothing behind, and lets its name
// go unless it is wanted for another one.
func (n *Node) drop(uid types.UID) {
	n.naming.Lock()
	defer n.naming.Unlock()
	n.mu.Lock()
	e := n.entries[uid]
	again := e != nil && e.desired && e.fresh
	n.mu.Unlock()
	if e == nil {
		return
	}
	n.probes.Remove(uid)
	n.sync.Forget(uid) // before the uid may come again
	if again {
		n.opts.Observer.Restarted(e.want.Pod)
	}
	n.mu.Lock()
	delete(n.entries, uid)
	if e.alarm != nil {
		e.alarm.Stop()
	}
	n.mu.Unlock()
	if e.rejected == nil && !n.claimed[e.fullName()] {
		n.letGo(e.fullName())
	}
	n.dropHold(uid)
	n.changed()
}
