package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired"
)

// livePodctls are clients of the podctls that live on the runtime.
func livePodctls(ctx context.Context, e *env, g globals) ([]*control.Client, error) {
	_, dir, err := findSockets(ctx, g)
	if err != nil {
		return nil, err
	}
	return control.Find(dir, e.dial)
}

// findSockets is the runtime, and where its podctls have their sockets.
func findSockets(ctx context.Context, g globals) (endpoint cri.Endpoint, dir string, err error) {
	endpoint, err = cri.Discover(ctx, cri.DiscoverOptions{Runtime: g.runtime, Image: g.image, Timeout: g.timeout})
	if err == nil {
		dir, err = socketDir(g, endpoint)
	}
	return endpoint, dir, err
}

// livePods asks each of the podctls for its pods that it desires: the others
// hold nothing against a pod that comes.
func livePods(ctx context.Context, podctls []*control.Client) []desired.Answer {
	var answers []desired.Answer
	for _, c := range podctls {
		a := desired.Answer{Source: c.Instance()}
		a.Pods, a.Err = desiredOf(ctx, c)
		answers = append(answers, a)
	}
	return answers
}

func desiredOf(ctx context.Context, c *control.Client) ([]*v1.Pod, error) {
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	leaving := map[types.UID]bool{}
	for _, w := range workers {
		leaving[w.UID] = !w.Desired
	}
	list, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	var pods []*v1.Pod
	for i := range list.Items {
		if p := &list.Items[i]; !leaving[p.UID] {
			pods = append(pods, p)
		}
	}
	return pods, nil
}

// bound is what the pods of the podctls may request, where one of them is
// bounded; nil where none is. Of several the first by name counts.
func bound(ctx context.Context, podctls []*control.Client) (instance string, allocatable v1.ResourceList, err error) {
	for _, c := range podctls {
		n, err := c.Node(ctx)
		if err != nil {
			return "", nil, fmt.Errorf("ask what is allocatable: %w", err)
		}
		if n.Status.Allocatable != nil {
			return c.Instance(), n.Status.Allocatable, nil
		}
	}
	return "", nil, nil
}
