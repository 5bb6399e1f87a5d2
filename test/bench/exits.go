package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// benchExits measures how long after a container's exit, as the runtime dates
// it, the PLEG reports it: one PLEG with hints and one without see the same
// containers, which the bare calls start.
func benchExits(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	starter, err := ownPods(ctx, o.endpoint, dir, "sleep", "1")
	if err != nil {
		return err
	}
	defer starter.Client.Close()
	client, err := cri.Connect(ctx, cri.Options{Endpoint: cri.Endpoint{Runtime: o.endpoint}})
	if err != nil {
		return err
	}
	defer client.Close()

	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	events := WatchExits(watching, starter.Client)
	hinted := watchExits(watching, &watchers, client, pleg.Options{Broadcasts: func(context.Context) bool { return client.Connected().BroadcastsEvents() }}, o.exits)
	relisted := watchExits(watching, &watchers, unhinted{client}, pleg.Options{}, o.exits)

	pods := make([]*Pod, o.exits)
	defer func() {
		err = errors.Join(err, starter.Sweep(context.WithoutCancel(ctx)))
	}()
	for i := range pods {
		if pods[i], err = starter.RunSandbox(ctx, i); err != nil {
			return err
		}
	}
	for _, p := range pods {
		if err := starter.StartContainer(ctx, p); err != nil {
			return err
		}
	}
	own, err := lagsOf(ctx, starter, events, pods)
	if err != nil {
		return err
	}

	fmt.Printf("exit of a container to the PLEG's event, %d containers of one second\n", o.exits)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tp50\tp95\tmax")
	for _, w := range []struct {
		name string
		got  <-chan []time.Duration
	}{{"the runtime's own event, which hints wait for", own}, {"the PLEG with hints", hinted}, {"the PLEG by relist only, every second as the kubelet", relisted}} {
		select {
		case latencies, ok := <-w.got:
			if !ok {
				fmt.Fprintf(t, "%s\tnone\n", w.name)
				continue
			}
			slices.Sort(latencies)
			at := func(percent int) string { return milliseconds(latencies[(len(latencies)-1)*percent/100]) }
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", w.name, at(50), at(95), at(100))
		case <-time.After(time.Minute):
			return fmt.Errorf("%s: exits are missing", w.name)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t.Flush()
	fmt.Println()
	return nil
}

// watchExits runs a PLEG until ctx ends. After that many exits it yields the lag of
// each.
func watchExits(ctx context.Context, running *sync.WaitGroup, rt pleg.Runtime, o pleg.Options, exits int) <-chan []time.Duration {
	p := pleg.New(rt, o)
	sub := p.Subscribe()
	running.Go(func() { _ = p.Run(ctx) }) // it runs once
	got := make(chan []time.Duration, 1)
	running.Go(func() {
		var latencies []time.Duration
		for len(latencies) < exits {
			select {
			case <-ctx.Done():
				return
			case <-sub.Ready():
			}
			now := time.Now()
			for _, ev := range sub.Take() {
				if ev.Type == pleg.ContainerDied && ev.Container != "" && ev.Status != nil {
					latencies = append(latencies, now.Sub(ev.Status.ContainerByID(ev.ID).FinishedAt))
				}
			}
		}
		got <- latencies
	})
	return got
}

// lagsOf yields the lag of the runtime's own events, and nothing if it has none.
func lagsOf(ctx context.Context, own *PodMaker, events *Exits, pods []*Pod) (<-chan []time.Duration, error) {
	got := make(chan []time.Duration, 1)
	defer close(got)
	var lags []time.Duration
	for _, p := range pods {
		lag, err := own.ExitLag(ctx, events, p)
		if err != nil {
			return nil, err
		}
		lags = append(lags, lag)
	}
	if !events.Polled {
		got <- lags
	}
	return got, nil
}

// unhinted is a runtime without events.
type unhinted struct{ *cri.Client }

func (unhinted) Notices(context.Context, func(), func(pod.Notice)) error {
	return errors.ErrUnsupported
}
