package daemon

import (
	"cmp"
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/worker"
)

// portPeer is another podctl and its last answer. One that does not answer, for
// instance because it is suspended, starts no pods: those of its last answer keep
// their ports. If it never answered, its ports are not known and keep no pod from
// starting, which could otherwise wait without end.
type portPeer struct {
	pods []*v1.Pod
	// silent is until when it is not asked, because it did not answer.
	silent time.Time
}

// askPeers asks the podctls, all at the same time, and forgets those that are gone.
func (h *hostPorts) askPeers(ctx context.Context, clients map[string]*control.Client) {
	known := h.peers
	h.peers = map[string]*portPeer{}
	asking, cancel := context.WithTimeout(ctx, cmp.Or(h.askTimeout, portAskTimeout))
	defer cancel()
	var all sync.WaitGroup
	for socket, c := range clients {
		peer := known[socket]
		if peer == nil {
			peer = &portPeer{}
		}
		h.peers[socket] = peer
		if time.Now().Before(peer.silent) {
			continue
		}
		all.Go(func() {
			pods, err := runningPods(asking, c)
			if err == nil {
				peer.pods = pods
				return
			}
			peer.silent = time.Now().Add(cmp.Or(h.pause, portPause))
			if ctx.Err() == nil {
				h.log.Warn("host ports not checked: a podctl does not answer, its last known pods count", "instance", c.Instance(), "pods", len(peer.pods), "err", err)
			}
		})
	}
	all.Wait()
}

// runningPods returns the pods of a podctl of which something may run.
func runningPods(ctx context.Context, c *control.Client) ([]*v1.Pod, error) {
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	list, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	runs := map[types.UID]bool{}
	for _, w := range workers {
		runs[w.UID] = w.Phase == worker.Syncing.String() || w.Phase == worker.Terminating.String()
	}
	var pods []*v1.Pod
	for i := range list.Items {
		if p := &list.Items[i]; runs[p.UID] {
			pods = append(pods, p)
		}
	}
	return pods, nil
}
