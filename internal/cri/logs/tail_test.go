package logs

import (
	"errors"
	"testing"
)

// holes is a file of zeros that counts what is read of it.
type holes struct{ read int64 }

func (h *holes) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	h.read += int64(len(p))
	return len(p), nil
}

// A file of holes takes a container nothing, and its reader hours.
func TestTailOfHolesIsBounded(t *testing.T) {
	h := &holes{}
	c := &tailCounter{want: 1, wanted: [streams]bool{true, true}}
	if err := backward(h, 4*maxPassed, c, func(Stream, bool, int64, int64) bool { return false }); !errors.Is(err, errPassed) || h.read > 2*maxPassed {
		t.Errorf("read %d bytes: %v", h.read, err)
	}
}
