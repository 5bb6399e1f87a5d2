package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
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
	starter, err := bare.Dial(o.endpoint)
	if err != nil {
		return err
	}
	defer starter.Close()
	client, err := cri.Connect(ctx, cri.Options{Endpoint: cri.Endpoint{Runtime: o.endpoint}})
	if err != nil {
		return err
	}
	defer client.Close()
	version, err := client.Version(ctx)
	if err != nil {
		return err
	}

	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	own := watchEvents(watching, &watchers, starter, o.exits)
	hinted := watchExits(watching, &watchers, client, pleg.Options{Broadcasts: func(context.Context) bool { return version.BroadcastsEvents() }}, o.exits)
	relisted := watchExits(watching, &watchers, unhinted{client}, pleg.Options{}, o.exits)

	pods := make([]*bare.Pod, o.exits)
	defer func() {
		for _, p := range pods {
			if p != nil && p.SandboxID != "" {
				ctx := context.WithoutCancel(ctx)
				err = errors.Join(err, starter.Stop(ctx, p), starter.Remove(ctx, p))
			}
		}
	}()
	for i := range pods {
		name := fmt.Sprintf("exit-%d", i)
		logs := filepath.Join(dir, name)
		if err := os.Mkdir(logs, 0o755); err != nil {
			return err
		}
		pods[i], err = starter.RunSandbox(ctx, bare.Spec{Name: name, Image: image.BusyboxName, Command: []string{"sleep", "1"}, LogDir: logs})
		if err != nil {
			return err
		}
	}
	for _, p := range pods {
		if err := starter.StartContainer(ctx, p); err != nil {
			return err
		}
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

// watchEvents does the same with the runtime's own events, and yields nothing if
// it has none.
func watchEvents(ctx context.Context, running *sync.WaitGroup, client *bare.Client, exits int) <-chan []time.Duration {
	got := make(chan []time.Duration, 1)
	running.Go(func() {
		defer close(got)
		stream, err := client.Subscribe(ctx)
		if err != nil {
			return
		}
		var latencies []time.Duration
		for len(latencies) < exits {
			ev, err := stream.Recv()
			if err != nil {
				return
			}
			now := time.Now()
			for _, c := range ev.ContainersStatuses {
				if c.Id == ev.ContainerId && ev.ContainerEventType == runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT {
					latencies = append(latencies, now.Sub(time.Unix(0, c.FinishedAt)))
				}
			}
		}
		got <- latencies
	})
	return got
}

// unhinted is a runtime without events.
type unhinted struct{ *cri.Client }

func (unhinted) Hints(context.Context, func(), func(pod.Hint)) error { return errors.ErrUnsupported }
