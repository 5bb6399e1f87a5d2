package cgroup

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/podctl/podctl/internal/sys/flock"
)

// lockTimeout bounds the wait for the lock. Its holder creates or removes a few
// directories; where systemd does that, those of many pods at a time took longer than 10 s on a
// loaded node.
const lockTimeout = time.Minute

// lock keeps podctls, and the goroutines of one, from making a pod's parents
// and removing them at the same time. It is a lock on the run directory, which no
// other user can open, and which the kernel releases when its holder dies.
func (m *Manager) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	leave := flock.Queue(ctx, m.runDir)
	select {
	case within <- struct{}{}:
		leave()
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("wait for the lock of cgroups: %w", ctx.Err())
	}
	release := func() { <-within }
	if m.runDir == "" {
		return release, nil
	}
	if err := os.MkdirAll(m.runDir, 0o700); err != nil {
		release()
		return nil, err
	}
	unflock, err := flock.LockDir(ctx, m.runDir)
	if err != nil {
		release()
		return nil, fmt.Errorf("lock cgroups: %w", err)
	}
	return func() {
		unflock()
		release()
	}, nil
}

// within has room for the goroutine of this process that has the lock, or waits
// for another process.
var within = make(chan struct{}, 1)
