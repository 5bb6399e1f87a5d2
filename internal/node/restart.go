package node

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Restart restarts containers of a pod that runs, in its sandbox, and returns before any is
// stopped: see podsync.RestartRequest. containers are the ids of the runs that are meant, by
// name; "" is the one that the pod's status shows. With force, also containers that start
// again only with some exit codes. The error is ErrNoPod, or joins why each of the
// containers is not restarted; then none is.
func (n *Node) Restart(namespace, name string, containers map[string]string, force bool) error {
	display := pod.DisplayName(namespace, name)
	n.pods.mu.Lock()
	e, err := n.pods.named(namespace, name)
	if err == nil && (e.Phase != lifecycle.Active || n.workers.IsPodTerminationRequested(e.UID())) {
		err = hint.Errorf("podctl describe "+display, "pod %s is not running", display)
	}
	if err != nil {
		n.pods.mu.Unlock()
		return err
	}
	p, status := e.allocated(), e.status
	n.pods.mu.Unlock()
	var runs []string
	var refused []error
	for _, c := range slices.Sorted(maps.Keys(containers)) {
		r := podsync.RestartRequest{Pod: p, Status: &status, Container: c, ID: containers[c], Force: force}
		if err := r.Check(); err != nil {
			refused = append(refused, fmt.Errorf("restart %s/%s: %w", display, c, err))
		}
		runs = append(runs, cmp.Or(r.ID, r.Run()))
	}
	if len(refused) > 0 {
		return errors.Join(refused...)
	}
	n.sync.RequestRestart(p.UID, runs)
	n.syncPod(p.UID)
	return nil
}
