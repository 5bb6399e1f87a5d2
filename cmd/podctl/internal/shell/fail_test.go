package shell

import (
	"errors"
	"testing"

	"github.com/podctl/podctl/internal/cri"
)

// left is what a command says that was interrupted and left pods behind.
type left struct{ error }

func (left) Interrupted() {}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, ExitOK}, {errors.New("anything"), ExitFailed}, {Printed(errors.New("orphans")), ExitFailed}, {Usagef("wrong"), ExitUsage},
		{cri.ErrUnavailable, ExitUnreachable}, {cri.ErrPermission, ExitUnreachable}, {cri.ErrNotCRI, ExitUnreachable},
		{cri.ErrNotFound, ExitFailed}, {ErrInterrupted, ExitInterrupted}, {&StatusError{7}, 7}, {left{errors.New("2 pods are still terminating")}, ExitInterrupted},
	} {
		if got := ExitCode(errors.Join(c.err)); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}
