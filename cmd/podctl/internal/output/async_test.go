package output

import (
	"bytes"
	"strings"
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
