package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
	"github.com/podctl/podctl/test/live/record"
)

// benchStarts measures how long pods that run on take to start: of those that end at
// once, the first ones are removed while the last ones start. The bare calls ask for
// the same as podctl.
func benchStarts(ctx context.Context, o options) error {
	if o.podctl == "" {
		fmt.Print("not measured: no podctl\n\n")
		return nil
	}
	return throughProxy(o, func(dir string, proxy *record.Proxy, client *bare.Client) error {
		proxy.Take()
		if err := startAllByRun(ctx, o, proxy, 1); err != nil {
			return err
		}
		pod, err := recipeOf(proxy.Take())
		if err != nil {
			return err
		}
		contenders := []contender{atOnce("bare", func(ctx context.Context, n int) error {
			return pod.startAll(ctx, client, dir, n)
		}), atOnce("run", func(ctx context.Context, n int) error {
			return startAllByRun(ctx, o, proxy, n)
		}), {"agent", func(ctx context.Context, n int) (func() error, error) {
			return prepareAgent(ctx, o, proxy, n)
		}}}
		var goals startGoals
		err = compete(ctx, o, proxy, contenders, goals.add)
		if err == nil {
			goals.report(os.Stdout)
		}
		return err
	})
}

// startAll starts the pods side by side, and then removes them.
func (r *recipe) startAll(ctx context.Context, client *bare.Client, dir string, pods int) error {
	started := make([]*bare.Pod, pods)
	err := sideBySide(pods, func(i int) (err error) {
		started[i], err = r.start(ctx, client, dir, i)
		return err
	})
	return errors.Join(err, sideBySide(pods, func(i int) error {
		if started[i] == nil {
			return nil
		}
		return errors.Join(client.Stop(ctx, started[i]), client.Remove(ctx, started[i]))
	}))
}

// startAllByRun has `podctl run` run the pods until all have started.
func startAllByRun(ctx context.Context, o options, proxy *record.Proxy, pods int) error {
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o.idle = pods
	s, err := startSleepers(ctx, o, proxy.Endpoint, dir, "run")
	if err != nil {
		return err
	}
	return errors.Join(allStarted(ctx, proxy, pods), s.end())
}

// agentSettles is how long an agent is given after its first pod: by then its directory
// of locks has not changed for so long that it relies on what it knows of it. Up to
// agentPeriod is added, by chance, so that what the agent does every second and every
// two falls into as many starts as it would anywhere.
const (
	agentSettles = 6 * time.Second
	agentPeriod  = 2 * time.Second
)

// prepareAgent starts an agent, which runs one pod when the measurement begins, and is
// then given the others: like the client of the bare calls it has started a pod before.
func prepareAgent(ctx context.Context, o options, proxy *record.Proxy, pods int) (run func() error, err error) {
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return nil, err
	}
	o.idle = pods
	s, give, err := startAgent(ctx, o, proxy.Endpoint, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	end := func() error { return errors.Join(s.end(), os.RemoveAll(dir)) }
	if err := runFirst(ctx, proxy, dir, pods); err != nil {
		return nil, errors.Join(err, end())
	}
	return func() error {
		err := give()
		if err == nil {
			err = allStarted(ctx, proxy, pods)
		}
		return errors.Join(err, end())
	}, nil
}

// runFirst gives the agent its first pod, which gets the number after those of the others,
// and returns when the agent has settled.
func runFirst(ctx context.Context, proxy *record.Proxy, dir string, number int) error {
	proxy.Take()
	first := fmt.Sprintf(manifest, number, image.BusyboxName, sleepForever)
	if err := os.WriteFile(filepath.Join(dir, "manifests", "first.yaml"), []byte(first), 0o600); err != nil {
		return err
	}
	if err := allStarted(ctx, proxy, 1); err != nil {
		return err
	}
	return pause(ctx, agentSettles+rand.N(agentPeriod))
}
