package view

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
)

// Pods lists the runtime and asks the live podctl processes at the same time.
func (r *Reader) Pods(ctx context.Context, client *cri.Client) ([]*Pod, error) {
	pods, _, err := r.List(ctx, client, r.Start(ctx))
	return pods, err
}

// List lists the runtime, and joins the listing with the answers of its owners.
func (r *Reader) List(ctx context.Context, client *cri.Client, asking *owners.PendingAnswers) ([]*Pod, *owners.Answers, error) {
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
func (r *Reader) Reported(asking *owners.PendingAnswers) ([]*Pod, error) {
	answers, err := asking.ProcessAnswers()
	if err != nil {
		return nil, err
	}
	r.warn(answers)
	pods := Merge(nil, answers)
	for _, p := range pods {
		p.unlisted = true
	}
	return pods, nil
}

// warn reports who did not answer. Processes elsewhere are left out: they may have no pod
// of this runtime.
func (r *Reader) warn(answers *owners.Answers) {
	for _, p := range answers.Processes {
		if p.Err != nil && p.Socket != "" && !p.Elsewhere {
			r.Unanswered(p.NoAnswerError())
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

// MaxIPReads is the number of pods of which ReadStatuses reads the IPs alone at most.
const MaxIPReads = 100

// ReadStatuses reads the statuses of the pods that no podctl process manages: of those
// whose Display depends on it or, if all is true, of each. Of the others it reads the IPs,
// where these are not known and a sandbox is ready, unless they are too many: it takes a
// call for each. What is not answered in time stays unknown, and Unread says so.
func (r *Reader) ReadStatuses(ctx context.Context, pods []*Pod, all bool) {
	var withStatus, withIPs []*Pod
	for _, p := range pods {
		switch {
		case p.Manager != nil || p.Runtime == nil:
		case all || p.NeedsStatus():
			withStatus = append(withStatus, p)
		case len(p.IPs()) == 0 && p.SandboxReady():
			withIPs = append(withIPs, p)
		}
	}
	if len(withIPs) > MaxIPReads {
		withIPs = nil
	}
	asked := slices.Concat(withStatus, withIPs)
	errs := cri.ReadEach(ctx, len(asked), func(ctx context.Context, i int) (err error) {
		p := asked[i]
		if i < len(withStatus) {
			p.RuntimeStatus, err = r.Runtime.PartialStatus(ctx, p.Runtime)
		} else {
			p.sandboxIPs, err = r.Runtime.SandboxIPs(ctx, p.SandboxID())
		}
		return err
	})
	for i, err := range errs {
		if err != nil && !errors.Is(err, cri.ErrNotFound) { // it is gone since it was listed
			asked[i].Unread = []Unread{{"status", err.Error(), err}}
		}
	}
}
