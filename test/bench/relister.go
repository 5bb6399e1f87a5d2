package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// relister does one relist at a time.
type relister interface {
	// relist returns when that many events have come and nothing else is pending.
	relist(ctx context.Context, events int) error
	// inRow does that many relists in a row, none of which finds a change.
	inRow(ctx context.Context, n int) error
	// spent are the calls so far, and the time that the lists among them took.
	spent() (calls int, lists time.Duration)
}

// onlyLists makes the two lists and discards them: the cost that every relist has.
type onlyLists struct {
	rt    runtimeapi.RuntimeServiceClient
	calls int
	lists time.Duration
}

func (o *onlyLists) relist(ctx context.Context, _ int) error {
	begin := time.Now()
	if _, err := o.rt.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{}); err != nil {
		return err
	}
	_, err := o.rt.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	o.lists += time.Since(begin)
	o.calls += 2
	return err
}

func (o *onlyLists) inRow(ctx context.Context, n int) error { return repeat(ctx, o, n) }

func (o *onlyLists) spent() (int, time.Duration) { return o.calls, o.lists }

// kubeletRelister is the kubelet's loop.
type kubeletRelister struct{ *kubeletLoop }

func (k kubeletRelister) relist(ctx context.Context, events int) error {
	sent, err := k.kubeletLoop.relist(ctx)
	if err == nil && len(sent) != events {
		err = fmt.Errorf("the kubelet's loop sent %d events, want %d", len(sent), events)
	}
	return err
}

func (k kubeletRelister) inRow(ctx context.Context, n int) error { return repeat(ctx, k, n) }

func repeat(ctx context.Context, r relister, n int) error {
	for range n {
		if err := r.relist(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

func (k kubeletRelister) spent() (int, time.Duration) { return k.calls, k.lists }

// plegRelister is podctl's PLEG with the shortest period: its next list waits
// at the gate, so that its arrival shows that the last one is processed.
type plegRelister struct {
	sub      *pleg.Subscription
	at, gate chan struct{}
	// free is how many full lists may pass the gate without asking.
	free         atomic.Int64
	calls, lists atomic.Int64
	close        func()
}

func newPLEGRelister(ctx context.Context, endpoint string) (*plegRelister, error) {
	r := &plegRelister{at: make(chan struct{}), gate: make(chan struct{})}
	client, err := cri.Connect(ctx, cri.Options{Endpoint: cri.Endpoint{Runtime: endpoint}, Observer: r})
	if err != nil {
		return nil, err
	}
	p := pleg.New(gated{client, r}, pleg.Options{Period: 1})
	r.sub = p.Subscribe()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.Run(ctx) // it runs once
	}()
	r.close = func() {
		cancel()
		<-ended
		client.Close()
	}
	<-r.at
	return r, nil
}

// RuntimeOperation counts a call of the client.
func (r *plegRelister) RuntimeOperation(method string, took time.Duration, _ error) {
	r.calls.Add(1)
	if method == "ListPodSandbox" || method == "ListContainers" {
		r.lists.Add(int64(took))
	}
}

// inRow does that many relists one after the other; none may find a change.
func (r *plegRelister) inRow(ctx context.Context, n int) error {
	r.free.Store(int64(n - 1))
	return r.relist(ctx, 0)
}

func (r *plegRelister) relist(ctx context.Context, events int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r.gate <- struct{}{}
	at, got := false, 0
	for !at || got < events {
		select {
		case <-r.at:
			at = true
		case <-r.sub.Ready():
			got += len(r.sub.Take())
		case <-ctx.Done():
			return fmt.Errorf("the PLEG sent %d events, want %d: %w", got, events, ctx.Err())
		}
	}
	if got != events {
		return fmt.Errorf("the PLEG sent %d events, want %d", got, events)
	}
	return nil
}

func (r *plegRelister) spent() (int, time.Duration) {
	return int(r.calls.Load()), time.Duration(r.lists.Load())
}

// gated is a runtime whose full lists wait at the gate, and without hints.
type gated struct {
	*cri.Client
	r *plegRelister
}

func (g gated) ListPods(ctx context.Context) ([]*pod.Pod, error) {
	if g.r.free.Add(-1) >= 0 {
		return g.Client.ListPods(ctx)
	}
	select {
	case g.r.at <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-g.r.gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return g.Client.ListPods(ctx)
}

func (g gated) Notices(ctx context.Context, _ func(), _ func(pod.Notice)) error {
	<-ctx.Done()
	return ctx.Err()
}
