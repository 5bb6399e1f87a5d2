package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/record"
)

// contender is one way to run pods to their end and remove them.
type contender struct {
	name string
	run  func(ctx context.Context, pods int) error
}

// benchPods measures whole lives of pods.
func benchPods(ctx context.Context, o options) error {
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

	exits := client.Watch(ctx)
	contenders := []contender{{"bare", func(ctx context.Context, n int) error {
		return runBare(ctx, client, exits, dir, n)
	}}}
	if o.podctl != "" {
		contenders = append(contenders, contender{"podctl", func(ctx context.Context, n int) error {
			return runPodctl(ctx, o.podctl, proxy.Endpoint, dir, n)
		}})
	}
	for _, c := range contenders { // warm caches
		if _, err := measure(ctx, proxy, o.endpoint, c, 1); err != nil {
			return err
		}
	}
	var goals startGoals
	for _, n := range o.pods {
		results := map[string][]result{}
		for range o.rounds {
			for _, c := range contenders {
				r, err := measure(ctx, proxy, o.endpoint, c, n)
				if err != nil {
					return err
				}
				results[c.name] = append(results[c.name], r)
			}
		}
		report(os.Stdout, n, results)
		goals.add(n, results)
	}
	goals.report(os.Stdout)
	return nil
}
