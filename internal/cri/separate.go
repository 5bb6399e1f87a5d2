package cri

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// grouping tells of which pod sandboxes and containers are, and keeps apart what podctl
// created and what it did not: another program may give a pod a UID that podctl has
// given one, by a copied manifest or on purpose.
//
// For a command, a pod that has the UID of one that podctl created gets a UID of its own;
// others keep theirs, by which a kubelet names them. For a node, every pod that podctl
// did not create has a UID of its own, so that none can be taken for the node's,
// whatever else is listed.
type grouping struct {
	sandboxes map[string]sandboxEntry
	// podctls are the UIDs of sandboxes that podctl created.
	podctls map[types.UID]bool
	// own is nil for a command.
	own *ownSandboxes
}

func newGrouping(sandboxes []sandboxEntry, own *ownSandboxes) grouping {
	g := grouping{sandboxes: make(map[string]sandboxEntry, len(sandboxes)), podctls: map[types.UID]bool{}, own: own}
	for _, s := range sandboxes {
		g.sandboxes[s.ID] = s
		if s.Owner != "" {
			g.podctls[s.uid] = true
		}
	}
	return g
}

// separates reports whether a pod of the UID that podctl did not create gets another one.
func (g grouping) separates(uid types.UID) bool { return g.own != nil || g.podctls[uid] }

func (g grouping) ofSandbox(s sandboxEntry) identity {
	if s.Owner == "" && g.separates(s.uid) {
		return s.separate()
	}
	return s.identity
}

// ofContainer has no UID if the container belongs to no pod. A container is podctl's if
// its sandbox is. Of one whose sandbox is not listed, only the node that has seen the
// sandbox knows that.
func (g grouping) ofContainer(c containerEntry) identity {
	s, listed := g.sandboxes[c.SandboxID]
	switch {
	case listed && !s.HasUIDLabel() && (c.uid == "" || c.uid == s.shared):
		return g.ofSandbox(s)
	case c.uid == "", listed && s.Owner != "", !listed && g.own.has(c.SandboxID), !g.separates(c.uid):
		return c.identity
	case listed: // whatever its label says
		return g.ofSandbox(s)
	}
	return c.separate()
}

// ownSandboxes are the sandboxes that podctl created, as a client has created or seen
// them: a runtime that loses a sandbox may still have its containers. A nil one is
// empty, and stays so.
type ownSandboxes struct {
	mu sync.Mutex
	// seen is, by id, the number of the last list that showed the sandbox or a container
	// of it.
	seen  map[string]int
	lists int
}

func newOwnSandboxes() *ownSandboxes { return &ownSandboxes{seen: map[string]int{}} }

// keptLists is after how many lists that do not show it a sandbox is forgotten: those
// in flight may be older than it.
const keptLists = 16

func (o *ownSandboxes) has(id string) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.seen[id]
	return ok
}

func (o *ownSandboxes) created(id string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[id] = o.lists
}

// recordList adds those of a list of everything, and forgets those that are gone.
func (o *ownSandboxes) recordList(sandboxes []sandboxEntry, containers []containerEntry) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lists++
	for _, s := range sandboxes {
		if s.Owner != "" {
			o.seen[s.ID] = o.lists
		}
	}
	for _, c := range containers {
		if _, ok := o.seen[c.SandboxID]; ok {
			o.seen[c.SandboxID] = o.lists
		}
	}
	for id, list := range o.seen {
		if o.lists-list > keptLists {
			delete(o.seen, id)
		}
	}
}
