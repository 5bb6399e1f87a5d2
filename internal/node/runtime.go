package node

import (
	"context"
	"errors"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/podsync"
)

// Runtime is the CRI client.
type Runtime = *cri.Client

// syncRuntime is the client in the form that podsync asks for.
type syncRuntime struct{ *cri.Client }

var _ podsync.Runtime = syncRuntime{}

func (r syncRuntime) Exec(ctx context.Context, id string, command []string, timeout time.Duration) (output []byte, exitCode int32, err error) {
	res, err := r.ExecSync(ctx, id, command, timeout)
	return append(res.Stdout, res.Stderr...), res.ExitCode, err
}

// MemoryUsed implements podsync.Runtime.
func (r syncRuntime) MemoryUsed(ctx context.Context) (map[string]int64, error) {
	all, err := r.ContainerStats(ctx)
	used := map[string]int64{}
	for _, s := range all {
		if s.Memory != nil {
			used[s.ID] = int64(*s.Memory)
		}
	}
	return used, err
}

// network remembers for a short while whether the runtime's network is ready.
type network struct {
	// asking has room for one: the goroutine that asks the runtime, and may look at what
	// is below.
	asking chan struct{}
	// readyAt is when the runtime last said so.
	readyAt time.Time
}

// networkPeriod is how long it counts that the network was ready; that it was
// not is asked again by the next sync.
const networkPeriod = 5 * time.Second

// networkReady is nil while pods can be given a network. Those who ask at the
// same time wait for one answer; each gives up with its context.
func (n *Node) networkReady(ctx context.Context) error {
	select {
	case n.network.asking <- struct{}{}:
		defer func() { <-n.network.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if time.Since(n.network.readyAt) < networkPeriod {
		return nil
	}
	status, err := n.rt.Status(ctx)
	switch {
	case err != nil:
		return err
	case !status.Network.OK:
		return errors.New(status.Network.Message)
	}
	n.network.readyAt = time.Now()
	return nil
}
