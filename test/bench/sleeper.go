package main

import (
	"context"
	"errors"
	"os"
)

// withSleeper calls do with a pod whose container sleeps, and removes the pod.
func withSleeper(ctx context.Context, o options, do func(*PodMaker, *Pod) error) (err error) {
	dir, err := os.MkdirTemp("", "podctl-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	own, err := ownPods(ctx, o.endpoint, dir, "sleep", "3600")
	if err != nil {
		return err
	}
	defer own.Client.Close()
	p, err := own.Start(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Remove(context.WithoutCancel(ctx), p)) }()
	return do(own, p)
}
