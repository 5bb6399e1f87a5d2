package worker

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// NameChange is what Step asks for about the pod's full name.
type NameChange uint8

const (
	// NameJoin: the pod joins the line of those who want the name.
	NameJoin NameChange = iota
	// NameAwait: it asked for the name and has to go on waiting.
	NameAwait
	// NameTake: it leaves the line and holds the name.
	NameTake
	// NameHold: it runs already, and holds the name beside anyone who does.
	NameHold
	// NameLeave: it holds the name no longer.
	NameLeave
)

var nameChanges = [...]string{NameJoin: "join", NameAwait: "await", NameTake: "take", NameHold: "hold", NameLeave: "leave"}

func (c NameChange) String() string { return name("NameChange", nameChanges[:], uint8(c)) }

// NameView is what one pod sees of its full name.
type NameView struct {
	// Holder is the pod that holds the name, "" if it is free. Of several
	// (adopted) holders it is the first.
	Holder types.UID
	// Next is the first in line that may still start, "" if there is none.
	// The pod itself counts.
	Next types.UID
}

// mayTake reports whether uid may take the name now.
func (v NameView) mayTake(uid types.UID) bool {
	return v.Holder == "" && (v.Next == "" || v.Next == uid)
}

// Names says for each full name who holds it and who waits for it, first come
// first served (startedStaticPodsByFullname and
// waitingToStartStaticPodsByFullname in pkg/kubelet/pod_workers.go). Those in
// line are not told when they can start no more: they are skipped, and dropped
// once someone behind them asks. So a UID that comes again before that has its
// old place. The zero value is ready to use.
type Names struct {
	holders map[string][]types.UID
	line    map[string][]types.UID
}

// View returns what uid sees of the name. live reports whether another pod
// may still start.
func (n *Names) View(fullName string, uid types.UID, live func(types.UID) bool) NameView {
	var v NameView
	if holders := n.holders[fullName]; len(holders) > 0 {
		v.Holder = holders[0]
	}
	if i := n.firstLive(fullName, uid, live); i >= 0 {
		v.Next = n.line[fullName][i]
	}
	return v
}

// Apply carries out a change that uid's Step asked for.
func (n *Names) Apply(change NameChange, fullName string, uid types.UID, live func(types.UID) bool) {
	switch change {
	case NameJoin:
		appendUID(&n.line, fullName, uid)
	case NameAwait:
		// The queue of a name that is held is not searched.
		if len(n.holders[fullName]) == 0 {
			n.dropFirst(fullName, n.firstLive(fullName, uid, live))
		}
	case NameTake:
		n.dropFirst(fullName, n.firstLive(fullName, uid, live)+1)
		appendUID(&n.holders, fullName, uid)
	case NameHold:
		appendUID(&n.holders, fullName, uid)
	case NameLeave:
		setUIDs(n.holders, fullName, slices.DeleteFunc(n.holders[fullName], func(h types.UID) bool { return h == uid }))
	}
}

// Holders returns the pods that hold the name, in the order in which they came.
func (n *Names) Holders(fullName string) []types.UID { return n.holders[fullName] }

// firstLive returns the place in line of the first pod that may start, -1 if none may.
func (n *Names) firstLive(fullName string, uid types.UID, live func(types.UID) bool) int {
	return slices.IndexFunc(n.line[fullName], func(w types.UID) bool { return w == uid || live(w) })
}

// dropFirst takes the first count out of the line.
func (n *Names) dropFirst(fullName string, count int) {
	if count > 0 {
		setUIDs(n.line, fullName, n.line[fullName][count:])
	}
}

func appendUID(m *map[string][]types.UID, key string, uid types.UID) {
	if *m == nil {
		*m = map[string][]types.UID{}
	}
	(*m)[key] = append((*m)[key], uid)
}

func setUIDs(m map[string][]types.UID, key string, uids []types.UID) {
	if len(uids) == 0 {
		delete(m, key)
		return
	}
	m[key] = uids
}
