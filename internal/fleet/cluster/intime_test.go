package cluster

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// late is a context whose deadline has passed before it ends.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now(), true }

// A connection whose deadline is that of the context fails in the same instant: the cause
// is the context's, not that of the connection.
func TestCancelCauseWins(t *testing.T) {
	cause := errors.New("no answer within 2s")
	ctx, end := context.WithCancelCause(t.Context())
	_, err := withTimeout(late{ctx}, func() (int, error) {
		time.AfterFunc(10*time.Millisecond, func() { end(cause) })
		return 0, os.ErrDeadlineExceeded
	})
	if !errors.Is(err, cause) {
		t.Errorf("%v, want %v", err, cause)
	}
}
