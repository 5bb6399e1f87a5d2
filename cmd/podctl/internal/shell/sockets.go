package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pods/view"
)

// LivePodctls are clients of the live podctl processes on the runtime.
func LivePodctls(ctx context.Context, e *Env, g Globals) ([]*control.Client, error) {
	_, paths, err := FindSockets(ctx, g)
	if err != nil {
		return nil, err
	}
	return control.Find(paths.Locks, e.Dial)
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
