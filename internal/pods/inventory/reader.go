package inventory

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
)

// Reader reads the pods of one runtime, with their owners.
type Reader struct {
	owners.Asker
	Log *slog.Logger
	// Unanswered is called for each podctl process that did not answer, and if there may
	// be some that are not seen; their pods are in the runtime's listing.
	Unanswered func(error)
}

// Pods lists the runtime and asks the live podctl processes at the same time.
func (r Reader) Pods(ctx context.Context, client *cri.Client) ([]*Pod, error) {
	pods, _, err := r.Read(ctx, client, r.Begin(ctx))
	return pods, err
}

// Read lists the runtime, and joins the listing with the answers of its owners.
func (r Reader) Read(ctx context.Context, client *cri.Client, asking *owners.Asking) ([]*Pod, *owners.Answers, error) {
	listed, err := client.ListPods(ctx)
	if err != nil {
		return nil, nil, err
	}
	answers, err := asking.Answers(ctx, client, listed)
	if err != nil {
		return nil, nil, err
	}
	r.warn(answers)
	return Merge(listed, answers), answers, nil
}

// Reported returns the pods that live podctl processes report: all that is known
// while the runtime does not answer.
func (r Reader) Reported(asking *owners.Asking) ([]*Pod, error) {
	answers, err := asking.Reported()
	if err != nil {
		return nil, err
	}
	r.warn(answers)
	return Merge(nil, answers), nil
}

// warn reports who did not answer. Processes elsewhere are left out: they may have no pod
// of this runtime.
func (r Reader) warn(answers *owners.Answers) {
	for _, p := range answers.Processes {
		if p.Err != nil && p.Socket != "" && !p.Elsewhere {
			r.Unanswered(p.Silence())
		}
	}
	switch {
	case errors.Is(answers.Unread, fs.ErrPermission):
		// A user who may use the runtime's socket can list its pods without them.
		r.Log.Warn("podctl processes are not asked", "err", answers.Unread)
	case answers.Unread != nil:
		r.Unanswered(answers.Unread)
	}
}

// ReadIPs reads the IPs of pods that no podctl process manages, where they are not
// known and a sandbox is ready, unless they are too many: it takes a call for each.
// What cannot be read within a second stays unknown.
func ReadIPs(ctx context.Context, pods []*Pod, read func(ctx context.Context, sandbox string) ([]string, error)) {
	known := func(p *Pod) bool { return p.Manager != nil || len(p.IPs()) > 0 || !p.SandboxReady() }
	asked := slices.DeleteFunc(slices.Clone(pods), known)
	if len(asked) > MaxIPReads {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ipTimeout)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(statusReads)
	for _, p := range asked {
		g.Go(func() error {
			p.sandboxIPs, _ = read(ctx, p.Sandbox())
			return nil
		})
	}
	_ = g.Wait() // returns no error
}

// MaxIPReads is the number of pods of which ReadIPs reads the IPs at most.
const MaxIPReads = 100

// statusReads bounds the status calls in flight, ipTimeout the time that IPs may
// take.
const (
	statusReads = 16
	ipTimeout   = time.Second
)

// ReadStatuses reads the statuses of pods that no podctl process manages. A
// status that cannot be read stays nil.
func ReadStatuses(ctx context.Context, pods []*Pod, read func(context.Context, *pod.Pod) (*pod.Status, error)) {
	var g errgroup.Group
	g.SetLimit(statusReads)
	for _, p := range pods {
		if p.Manager == nil {
			g.Go(func() error {
				if st, err := read(ctx, p.Runtime); err == nil {
					p.Status = st
				}
				return nil
			})
		}
	}
	_ = g.Wait() // returns no error
}
