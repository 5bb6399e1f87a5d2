package pods

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/stop"
	"github.com/podctl/podctl/internal/pods/view"
)

// podRequest is what commands work with that stop or restart pods.
type podRequest struct {
	client *cri.Client
	reader *view.Reader
	pods   []*view.Pod
	names  *stop.Names
	close  func()
}

// openPodRequest connects to the runtime and lists its pods. prefix begins the name under which
// pods are locked; set completes the reader that asks their owners.
func openPodRequest(ctx context.Context, e *shell.Env, g shell.Globals, prefix string, set func(*view.Reader)) (*podRequest, error) {
	client, disconnect, err := shell.Connect(ctx, e, g)
	if err != nil {
		return nil, err
	}
	r := &podRequest{client: client, close: disconnect}
	p, err := g.Paths(client.Endpoint())
	if err != nil {
		disconnect()
		return nil, err
	}
	r.reader = shell.NewReader(e, client.Endpoint(), p)
	set(r.reader)
	if r.pods, err = r.reader.Pods(ctx, client); err != nil {
		disconnect()
		return nil, err
	}
	r.names = &stop.Names{Dir: p.Locks, Instance: shell.InstanceName(prefix), Procs: e.Procs, Log: e.Log}
	r.reader.Self = r.names.Instance
	r.close = func() {
		_ = r.names.Close() // the process exits soon
		disconnect()
	}
	return r, nil
}

// eachPod calls do for n pods, stop.AtOnce at a time, and prints what it returns once it is known.
func eachPod(ctx context.Context, e *shell.Env, n int, do func(i int) (lines []string, err error)) []error {
	errs := make([]error, n)
	var printing sync.Mutex
	var group errgroup.Group
	group.SetLimit(stop.AtOnce)
	for i := range n {
		group.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] != nil {
				return nil
			}
			var lines []string
			lines, errs[i] = do(i)
			printing.Lock()
			defer printing.Unlock()
			for _, line := range lines {
				fmt.Fprintln(e.Out, line)
			}
			return nil
		})
	}
	_ = group.Wait() // returns no error
	return errs
}
