package output

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stalled is a writer that blocks until it is released.
type stalled struct {
	release chan struct{}
	bytes.Buffer
}

func (s *stalled) Write(p []byte) (int, error) {
	<-s.release
	return s.Buffer.Write(p)
}

func TestAStalledReaderBlocksNoWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &stalled{release: make(chan struct{})}
		lost := 0
		a := NewAsync(to, 100, func(n int) { lost += n })
		for range 30 { // 300 bytes
			if n, err := a.Write([]byte("012345678\n")); n != 10 || err != nil {
				t.Fatal(n, err)
			}
		}
		began := time.Now()
		a.Flush(time.Second)
		if took := time.Since(began); took != time.Second {
			t.Errorf("a flush to a stalled reader took %s", took)
		}
		close(to.release)
		a.Flush(time.Second)
		synctest.Wait()
		if got := to.String(); got != strings.Repeat("012345678\n", 10) || lost != 20 {
			t.Errorf("%d bytes written, %d writes dropped", len(got), lost)
		}
		if _, err := a.Write([]byte("again\n")); err != nil {
			t.Fatal(err)
		}
		a.Flush(time.Second)
		if !strings.HasSuffix(to.String(), "again\n") {
			t.Errorf("after the stall: %q", to.String())
		}
	})
}

func TestWritesDroppedDuringTheLastWriteAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &stalled{release: make(chan struct{})}
		lost := 0
		a := NewAsync(to, 10, func(n int) { lost += n })
		for i := range 3 {
			if _, err := a.Write([]byte("012345678\n")); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				synctest.Wait() // the write is in progress before the others are dropped
			}
		}
		close(to.release)
		synctest.Wait()
		if lost != 2 || to.String() != "012345678\n" {
			t.Errorf("%d writes reported as dropped, want 2; written %q", lost, to.String())
		}
	})
}

// What can be read again waits for room, and the result of work that is done is not
// dropped, whatever its size.
func TestResultsWaitForTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &stalled{release: make(chan struct{})}
		a := NewAsync(to, 10, func(n int) { t.Errorf("%d writes dropped", n) })
		ctx, cancel := context.WithCancel(t.Context())
		var done []string
		var writing sync.WaitGroup
		writing.Go(func() {
			a.Room(ctx)
			_, _ = a.Write([]byte("0123456789"))
			a.Room(ctx)
			done = append(done, "room")
			a.Block(ctx)
			for range 3 {
				_, _ = a.Write([]byte("a result of more than the limit\n"))
			}
			a.Idle(ctx)
			done = append(done, "idle")
		})
		synctest.Wait()
		if len(done) > 0 {
			t.Errorf("%v before anything was read", done)
		}
		close(to.release)
		writing.Wait()
		if want := "0123456789" + strings.Repeat("a result of more than the limit\n", 3); to.String() != want {
			t.Errorf("written %q", to.String())
		}
		cancel()
	})
}

func TestWaitsForTheReaderEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &stalled{release: make(chan struct{})}
		a := NewAsync(to, 10, func(int) {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a.Block(ctx)
		began := time.Now()
		for range 3 {
			_, _ = a.Write([]byte("0123456789"))
		}
		a.Room(ctx)
		a.Idle(ctx)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
		close(to.release)
	})
}

// broken is a writer whose reader has gone away.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestFailedWriteIsSaidWithoutAnother(t *testing.T) {
	a := NewAsync(broken{}, 100, nil)
	if _, err := a.Write([]byte("header\n")); err != nil {
		t.Fatal(err)
	}
	if err := <-a.Failed(); err != io.ErrClosedPipe {
		t.Error(err)
	}
}
