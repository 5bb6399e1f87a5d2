package shell

import (
	"errors"
	"strings"
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
		{cri.ErrNotFound, ExitFailed}, {ErrInterrupted, ExitInterrupted}, {&StatusError{7}, 7}, {&StatusError{0}, 0},
		{&StatusError{256}, ExitFailed}, {&StatusError{-256}, ExitFailed}, {&StatusError{1 << 16}, ExitFailed}, {&StatusError{257}, 1}, {&StatusError{-1}, 255}, {&StatusError{-2147483648}, ExitFailed},
		{left{errors.New("2 pods are still terminating")}, ExitInterrupted},
	} {
		if got := ExitCode(errors.Join(c.err)); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

func TestImpossibleExitCodeIsPrinted(t *testing.T) {
	for code, want := range map[int]string{
		7: "", 255: "", 256: "podctl: the exit code is 256, which no process can return: podctl exits with 1\n",
		-1: "podctl: the exit code is -1, which no process can return: podctl exits with 255\n",
	} {
		var b strings.Builder
		if PrintError(&b, &StatusError{code}); b.String() != want {
			t.Errorf("%d: %q, want %q", code, b.String(), want)
		}
	}
}

func TestPrintErrorIsReadable(t *testing.T) {
	var b strings.Builder
	PrintError(&b, errors.New("stop sandbox: rpc error: code = Unknown desc = "+strings.Repeat("0123", 16)+" is busy"))
	if got, want := b.String(), "podctl: stop sandbox: 0123012301230 is busy\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
