package node

import "time"

// A full name is held from before its first pod is let in until its last one
// has left nothing behind. The loop claims and settles; what is dropped lets
// go, in other goroutines: n.naming makes each of these one step.

// claim takes a full name for pods that the loop is about to let in, if
// another podctl does not have it. It is kept until settleNames at least.
func (n *Node) claim(fullName string) error {
	n.naming.Lock()
	defer n.naming.Unlock()
	err := n.locks.Claim(fullName)
	if err == nil {
		n.claimed[fullName] = true
	}
	return err
}

// settleNames lets go of the claimed names for which no pod was let in.
func (n *Node) settleNames() {
	n.naming.Lock()
	defer n.naming.Unlock()
	for fullName := range n.claimed {
		delete(n.claimed, fullName)
		n.letGo(fullName)
	}
}

// letGo releases a full name that no entry has. n.naming is held.
func (n *Node) letGo(fullName string) {
	n.mu.Lock()
	used := n.nameInUse(fullName)
	n.mu.Unlock()
	if used {
		return
	}
	if err := n.locks.Release(fullName); err != nil {
		n.log.Warn("release pod name", "pod", fullName, "err", err)
	}
}

// beat leaves a sign of life for whoever finds the node's pods after it was
// killed (podctl orphans).
func (n *Node) beat() {
	if err := n.locks.Beat(time.Now()); err != nil {
		n.log.Debug("date the instance's lock", "err", err)
	}
}
