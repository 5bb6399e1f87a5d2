package inventory

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// Reader reads the pods of one runtime.
type Reader struct {
	// Dir is the directory of locks and control sockets of the runtime.
	Dir string
	// Dial connects to control sockets; nil is the machine's own.
	Dial control.Dialer
	Log  *slog.Logger
	// Unanswered is called for each podctl process that did not answer, and if there may
	// be some that are not seen; their pods are in the runtime's listing.
	Unanswered func(error)
}

// Ask asks the live podctl processes for their pods, and returns at once; the
// function that it returns waits for the answers.
func (r Reader) Ask(ctx context.Context) (answers func() []Live, err error) {
	clients, err := control.Find(r.Dir, r.Dial)
	if errors.Is(err, fs.ErrPermission) {
		// A user who may use the runtime's socket can list its pods without them.
		r.Log.Warn("podctl processes are not asked", "err", err)
	} else if err != nil {
		return nil, err
	}
	var live []Live
	var asking sync.WaitGroup
	asking.Go(func() { live = Ask(ctx, clients) })
	return func() []Live { asking.Wait(); return live }, nil
}

// Pods lists the runtime and asks the live podctl processes at the same time.
func (r Reader) Pods(ctx context.Context, client *cri.Client) ([]*Pod, error) {
	answers, err := r.Ask(ctx)
	if err != nil {
		return nil, err
	}
	return r.Join(ctx, client, answers)
}

// Join lists the runtime and joins the listing with the answers of Ask.
func (r Reader) Join(ctx context.Context, client *cri.Client, answers func() []Live) ([]*Pod, error) {
	listed, err := client.ListPods(ctx)
	live := answers()
	if err != nil {
		return nil, err
	}
	for _, l := range live {
		if l.Err != nil {
			r.Unanswered(l.Err)
		}
	}
	owners := NewOwners(client, r.Dir, "", r.Dial)
	all := Merge(listed, live, owners.Alive)
	err = owners.Assign(ctx, all)
	if _, unseen := errors.AsType[*owner.LocksError](err); unseen {
		r.Unanswered(err) // the pods that podctl created count as alive
		return all, nil
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	return all, nil
}

// Reported returns the pods that live podctl processes report: all that is known
// while the runtime does not answer.
func (r Reader) Reported(answers func() []Live) []*Pod {
	live := answers()
	for _, l := range live {
		if l.Err != nil {
			r.Unanswered(l.Err)
		}
	}
	return Merge(nil, live, func(*Pod) bool { return true })
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
