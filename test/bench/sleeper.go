package main

import (
	"context"
	"errors"
	"os"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
)

// withSleeper calls do with a bare pod whose container sleeps, and removes the pod.
func withSleeper(ctx context.Context, o options, name string, do func(*bare.Client, *bare.Pod) error) (err error) {
	client, err := bare.Dial(o.endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	logs, err := os.MkdirTemp("", "podctl-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(logs)
	p, err := client.Start(ctx, bare.Spec{Name: name, Image: image.BusyboxName, Command: []string{"sleep", "3600"}, LogDir: logs})
	if err != nil {
		return err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, client.Stop(ctx, p), client.Remove(ctx, p))
	}()
	return do(client, p)
}
