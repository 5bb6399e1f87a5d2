package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

// While an operation waits for a lock, its pod's worker names the lock and the
// process that holds it.
func TestLockWaitNamesHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := flock.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(flock.For(t.Context(), "uid-web"))
	ended := make(chan error)
	go func() {
		_, err := flock.Lock(ctx, path)
		ended <- err
	}()
	testutil.Eventually(t, time.Minute, "a wait for the lock", func() bool { return len(flock.Current()) > 0 })
	self, err := proc.Default.Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	locks := locksByPod()["uid-web"]
	if len(locks) != 1 || locks[0].Path != path || locks[0].PID != os.Getpid() || locks[0].Command != self.Comm || locks[0].Since.IsZero() {
		t.Errorf("%+v, want %s of process %d, %s", locks, path, os.Getpid(), self.Comm)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with %v", err)
	}
	unlock()
	if locks := locksByPod(); len(locks) > 0 {
		t.Errorf("after the wait: %+v", locks)
	}
}
