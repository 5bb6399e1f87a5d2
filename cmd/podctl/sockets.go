package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/inventory"
)

// livePodctls are clients of the live podctl processes on the runtime.
func livePodctls(ctx context.Context, e *env, g globals) ([]*control.Client, error) {
	_, dir, err := findSockets(ctx, g)
	if err != nil {
		return nil, err
	}
	return control.Find(dir, e.dial)
}

// findSockets returns the runtime, and the directory of the control sockets of
// its podctl processes.
func findSockets(ctx context.Context, g globals) (endpoint cri.Endpoint, dir string, err error) {
	endpoint, err = cri.Discover(ctx, cri.DiscoverOptions{Runtime: g.runtime, Image: g.image, Timeout: g.timeout})
	if err != nil {
		return endpoint, "", err
	}
	p, err := g.paths(endpoint)
	return endpoint, p.Locks, err
}

// newReader reads the pods of the runtime of a directory of control sockets.
func newReader(e *env, dir string) inventory.Reader {
	return inventory.Reader{Dir: dir, Dial: e.dial, Log: e.log, Unanswered: func(err error) { fmt.Fprintf(e.errw, "warning: %v\n", err) }}
}

// reported returns the pods that live podctl processes report, with a warning, if
// the runtime does not answer; none for another error.
func reported(e *env, reader inventory.Reader, answers func() []inventory.Live, err error) []*inventory.Pod {
	if !errors.Is(err, cri.ErrHung) && !errors.Is(err, cri.ErrDeadline) && !errors.Is(err, cri.ErrUnavailable) {
		return nil
	}
	pods := reader.Reported(answers)
	if len(pods) > 0 {
		fmt.Fprintln(e.errw, "warning: the runtime does not answer: only pods that live podctl processes report are listed, in the last state that these know")
	}
	return pods
}
