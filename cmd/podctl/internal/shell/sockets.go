package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pods/inventory"
)

// LivePodctls are clients of the live podctl processes on the runtime.
func LivePodctls(ctx context.Context, e *Env, g Globals) ([]*control.Client, error) {
	_, dir, err := FindSockets(ctx, g)
	if err != nil {
		return nil, err
	}
	return control.Find(dir, e.Dial)
}

// FindSockets returns the runtime, and the directory of the control sockets of
// its podctl processes.
func FindSockets(ctx context.Context, g Globals) (endpoint cri.Endpoint, dir string, err error) {
	endpoint, err = cri.Discover(ctx, cri.DiscoverOptions{Runtime: g.Runtime, Image: g.Image, Timeout: g.Timeout})
	if err != nil {
		return endpoint, "", err
	}
	p, err := g.Paths(endpoint)
	return endpoint, p.Locks, err
}

// NewReader reads the pods of the runtime of a lock directory, and asks their owners.
func NewReader(e *Env, dir string) inventory.Reader {
	r := inventory.Reader{
		Asker: owners.Asker{Locks: dir, Dial: e.Dial, Procs: e.Procs, Kubelet: owners.KubeletIfNeeded},
		Log:   e.Log, Unanswered: func(err error) { fmt.Fprintf(e.Errw, "warning: %v\n", err) },
	}
	r.Answered = e.RecordedOwners()
	return r
}

// Reported returns the pods that live podctl processes report, with a warning, if
// the runtime does not answer; none for another error.
func Reported(e *Env, reader inventory.Reader, asking *owners.PendingAnswers, err error) []*inventory.Pod {
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
