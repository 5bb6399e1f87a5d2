package main

import (
	"errors"
	"testing"

	"github.com/podctl/podctl/cmd/podctl/internal/runview"
	"github.com/podctl/podctl/internal/cri"
)

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK}, {errors.New("anything"), exitFailed}, {&runview.FailedError{}, exitFailed}, {usagef("wrong"), exitUsage},
		{cri.ErrUnavailable, exitUnreachable}, {cri.ErrPermission, exitUnreachable}, {cri.ErrNotCRI, exitUnreachable},
		{cri.ErrNotFound, exitFailed}, {errInterrupted, exitInterrupted}, {&leftError{pods: 1}, exitInterrupted},
	} {
		if got := exitCode(errors.Join(c.err)); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}
