package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/record"
)

// contender is one way to run pods to their end and remove them.
type contender struct {
	name string
	// prepare does what is not measured, and returns what is.
	prepare func(ctx context.Context, pods int) (run func() error, err error)
}

// atOnce is a contender that prepares nothing.
func atOnce(name string, run func(ctx context.Context, pods int) error) contender {
	return contender{name, func(ctx context.Context, pods int) (func() error, error) {
		return func() error { return run(ctx, pods) }, nil
	}}
}

// benchPods measures whole lives of pods.
func benchPods(ctx context.Context, o options) error {
	return throughProxy(o, func(dir string, proxy *record.Proxy, _ *bare.Client) error {
		own, err := ownPods(ctx, proxy.Endpoint, dir, "true")
		if err != nil {
			return err
		}
		defer own.Client.Close()
		watching, stop := context.WithCancel(ctx)
		defer stop()
		exits := WatchExits(watching, own.Client)
		contenders := []contender{atOnce("bare", func(ctx context.Context, n int) error {
			return runBare(ctx, own, exits, n)
		})}
		if o.podctl != "" {
			contenders = append(contenders, atOnce("podctl", func(ctx context.Context, n int) error {
				return runPodctl(ctx, o.podctl, proxy.Endpoint, dir, n)
			}))
		}
		return compete(ctx, o, proxy, contenders, func(n int, results map[string][]result) { report(os.Stdout, n, results) })
	})
}

// throughProxy calls do with a directory, and a client of the runtime whose calls the
// proxy records.
func throughProxy(o options, do func(dir string, proxy *record.Proxy, client *bare.Client) error) error {
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	proxy, err := record.Start(filepath.Join(dir, "cri.sock"), o.endpoint)
	if err != nil {
		return err
	}
	defer proxy.Close()
	client, err := bare.Dial(proxy.Endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	return do(dir, proxy, client)
}

// compete runs the contenders with each number of pods, and reports the results of each
// by its name.
func compete(ctx context.Context, o options, proxy *record.Proxy, contenders []contender, report func(pods int, results map[string][]result)) error {
	for _, c := range contenders { // warm caches
		if _, err := measure(ctx, proxy, o.endpoint, c, 1); err != nil {
			return err
		}
	}
	for _, n := range o.pods {
		results := map[string][]result{}
		for round := range o.rounds {
			for _, c := range inTurn(contenders, round) {
				r, err := measure(ctx, proxy, o.endpoint, c, n)
				if err != nil {
					return err
				}
				results[c.name] = append(results[c.name], r)
			}
		}
		report(n, results)
	}
	return nil
}

// inTurn returns the contenders in the order of a round, every other one backwards: a
// runtime becomes slower the more pods it has had (20 pods take it a tenth longer in
// each of the first rounds), and the last contender of each would seem slower.
func inTurn(contenders []contender, round int) []contender {
	contenders = slices.Clone(contenders)
	if round%2 == 1 {
		slices.Reverse(contenders)
	}
	return contenders
}
