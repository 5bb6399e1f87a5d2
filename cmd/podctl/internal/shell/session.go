package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// ConnectSession connects to the runtime and lists nothing.
func ConnectSession(ctx context.Context, e *Env, g Globals) (*target.Session, error) {
	client, disconnect, err := Connect(ctx, e, g)
	if err != nil {
		return nil, err
	}
	paths, err := g.Paths(client.Endpoint())
	if err != nil {
		disconnect()
		return nil, err
	}
	return &target.Session{Client: client, Reader: NewReader(e, client.Endpoint(), paths), Close: disconnect}, nil
}

// OpenSession connects to the runtime and lists it once, with the owners of its pods.
func OpenSession(ctx context.Context, e *Env, g Globals) (*target.Session, error) {
	s, err := ConnectSession(ctx, e, g)
	if err != nil {
		return nil, err
	}
	if err := s.List(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// LivePodctls are clients of the live podctl processes on the runtime.
func LivePodctls(ctx context.Context, e *Env, g Globals) ([]*control.Client, error) {
	endpoint, paths, err := FindSockets(ctx, g)
	if err != nil {
		return nil, err
	}
	clients, err := control.Find(paths.Locks, e.Dial)
	return slices.DeleteFunc(clients, func(c *control.Client) bool {
		return owners.HasOtherSocket(e.Procs, paths.Locks, c.Instance(), endpoint.Runtime)
	}), err
}

// FindSockets returns the runtime, and the directories of its podctl processes.
func FindSockets(ctx context.Context, g Globals) (endpoint cri.Endpoint, paths host.Paths, err error) {
	endpoint, err = cri.Discover(ctx, cri.DiscoverOptions{Runtime: g.Runtime, Image: g.Image, Timeout: g.Timeout})
	if err != nil {
		return endpoint, paths, err
	}
	paths, err = g.Paths(endpoint)
	return endpoint, paths, err
}

// Reported returns the pods that live podctl processes report, with a warning, if
// the runtime does not answer; none for another error.
func Reported(e *Env, reader *view.Reader, asking *owners.PendingAnswers, err error) []*view.Pod {
	if !Unanswered(err) {
		return nil
	}
	pods, reportErr := reader.Reported(asking)
	if reportErr != nil {
		e.Log.Warn("podctl processes are not asked", "err", reportErr)
	}
	if len(pods) > 0 {
		fmt.Fprintln(e.Errw, "warning: the runtime does not answer: only pods that live podctl processes report are listed, in the last state that these know")
	}
	return pods
}

// Unanswered reports whether err is of a runtime that does not answer.
func Unanswered(err error) bool {
	return errors.Is(err, cri.ErrHung) || errors.Is(err, cri.ErrDeadline) || errors.Is(err, cri.ErrUnavailable)
}
