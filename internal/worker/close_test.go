package worker

import (
	"context"
	"testing"
	"time"
)

// Closing meets pods that have only just begun: the goroutine of none stays.
func TestCloseDuringStart(t *testing.T) {
	for range 200 {
		w := New(Options{Ops: newFakeOps(t), Jitter: noJitter})
		w.Update(create(testPod("u1", "web", nil)))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := w.Close(ctx)
		cancel()
		if err != nil {
			t.Fatalf("its goroutine hangs: %v", err)
		}
	}
}
