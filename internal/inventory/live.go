package inventory

import (
	"context"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/control"
)

// Live is the answer of one live podctl process: its pods, or why it did not
// answer.
type Live struct {
	Process control.Process
	// Settled: the process knew all pods that it owns when it answered.
	Settled bool
	Workers []control.Worker
	Err     error
}

// askTimeout bounds the answer of a podctl process. It answers from memory.
const askTimeout = 2 * time.Second

// Ask asks podctl processes for their pods, all at the same time.
func Ask(ctx context.Context, clients []*control.Client) []Live {
	live := make([]Live, len(clients))
	var asking sync.WaitGroup
	for i, c := range clients {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			workers, err := c.Workers(ctx)
			live[i] = Live{Process: c.Process(), Settled: c.Settled(), Workers: workers, Err: err}
		})
	}
	asking.Wait()
	return live
}
