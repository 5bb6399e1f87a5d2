package node

import (
	"context"
	"time"

	"github.com/podctl/podctl/internal/event"
)

// logSpaceLeast is what a file system has free, in bytes, that is not full: less
// is filled by a few lines.
const logSpaceLeast = 64 << 10

// watchLogSpace reports that the file system of the logs is full, until ctx ends.
// The runtime writes the logs, and drops what it cannot write without a word.
func (n *Node) watchLogSpace(ctx context.Context) {
	if n.opts.LogSpace == nil {
		return
	}
	ticker := time.NewTicker(limitsPeriod)
	defer ticker.Stop()
	full := false
	for {
		free, err := n.opts.LogSpace()
		if err != nil {
			n.log.Debug("read free space of the log directory", "err", err)
		} else {
			if free < logSpaceLeast && !full {
				n.runtimeEvent(event.Event{Reason: event.LogDirFull, Warning: true})
			}
			full = free < logSpaceLeast
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
