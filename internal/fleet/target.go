package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Inspector is a pod that runs commands on its node.
type Inspector struct {
	Name, Node string
	// Ready: its container runs and the pod is not terminating.
	Ready   bool
	Created time.Time
}

// Target is a node and the pod on it that runs the command.
type Target struct {
	Node, Pod string
	// Failure is why there is no such pod; nil if there is one.
	Failure *Failure
}

// Targets returns a target for each of the nodes, sorted by name. Of several pods on a
// node, as during an update of the DaemonSet, the newest that is ready is used.
func Targets(nodes []string, pods []Inspector) []Target {
	byNode := map[string]Inspector{}
	for _, p := range pods {
		if known, ok := byNode[p.Node]; !ok || preferred(p, known) {
			byNode[p.Node] = p
		}
	}
	names := slices.Clone(nodes)
	slices.Sort(names)
	names = slices.Compact(names)
	targets := make([]Target, len(names))
	for i, name := range names {
		targets[i] = target(name, byNode)
	}
	return targets
}

func target(node string, byNode map[string]Inspector) Target {
	p, ok := byNode[node]
	switch {
	case !ok:
		return Target{Node: node, Failure: &Failure{Reason: NoInspector, Message: "no inspector pod on this node, or no such node"}}
	case !p.Ready:
		return Target{Node: node, Pod: p.Name, Failure: &Failure{Reason: NotReady, Message: fmt.Sprintf("pod %s is not ready", p.Name)}}
	}
	return Target{Node: node, Pod: p.Name}
}

// preferred reports whether a is a better choice than b.
func preferred(a, b Inspector) bool {
	if a.Ready != b.Ready {
		return a.Ready
	}
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name)) > 0
}
