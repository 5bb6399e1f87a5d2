package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods returns the pods that the process manages, with their status.
func (c *Client) Pods(ctx context.Context) (*v1.PodList, error) {
	return c.pods(ctx, "/pods")
}

func (c *Client) pods(ctx context.Context, path string) (*v1.PodList, error) {
	var list struct {
		metav1.TypeMeta
		Items []json.RawMessage `json:"items"`
	}
	if err := c.read(ctx, path, &list); err != nil {
		return nil, err
	}
	pods, err := decodeEach[v1.Pod](list.Items)
	return &v1.PodList{TypeMeta: list.TypeMeta, Items: pods}, c.wrap(path, err)
}

// decodeEach decodes the items of a list, of which there is one for each pod.
func decodeEach[T any](items []json.RawMessage) ([]T, error) {
	if len(items) > maxPods {
		return nil, fmt.Errorf("the answer has more than %d pods", maxPods)
	}
	all := make([]T, len(items))
	for i, item := range items {
		if err := json.Unmarshal(item, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Pod returns one pod with its status. The error is ErrNotFound if the process does not
// manage it.
func (c *Client) Pod(ctx context.Context, uid types.UID) (*v1.Pod, error) {
	path := "/pods?uid=" + url.QueryEscape(string(uid))
	list, err := c.pods(ctx, path)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].UID == uid {
			return &list.Items[i], nil
		}
	}
	return nil, c.wrap(path, ErrNotFound)
}

// Node returns the node's name and, if it is limited, what is allocatable.
func (c *Client) Node(ctx context.Context) (*v1.Node, error) {
	n := &v1.Node{}
	return n, c.read(ctx, "/node", n)
}

// Workers returns the pods as their workers see them.
func (c *Client) Workers(ctx context.Context) ([]Worker, error) {
	const path = "/workers"
	var items []json.RawMessage
	if err := c.read(ctx, path, &items); err != nil {
		return nil, err
	}
	workers, err := decodeEach[Worker](items)
	return workers, c.wrap(path, err)
}

// Stop stops a pod, keeps it stopped, and returns when nothing of it runs. grace is in
// seconds; nil is the pod's own. If ctx ends first, the pod still terminates. The error is
// ErrNotFound if the process has no such pod.
func (c *Client) Stop(ctx context.Context, namespace, name string, grace *int64) error {
	return c.post(ctx, "/stop", podRequest{Namespace: namespace, Name: name, GraceSeconds: grace})
}

// Start starts a stopped pod again. The error is ErrNotFound if the process has no such
// pod.
func (c *Client) Start(ctx context.Context, namespace, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return c.post(ctx, "/start", podRequest{Namespace: namespace, Name: name})
}

// Restart restarts containers of a pod that runs, in its sandbox, and returns before any is
// stopped: the runs of these ids, by name, "" is the newest. The error is ErrNotFound if the process has no such pod.
func (c *Client) Restart(ctx context.Context, namespace, name string, containers map[string]string, force bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return c.post(ctx, "/restart", restartRequest{Namespace: namespace, Name: name, Containers: containers, Force: force})
}

// Debug adds an ephemeral container to a pod that runs, and returns before it is
// started. The error is ErrNotFound if the process has no such pod.
func (c *Client) Debug(ctx context.Context, namespace, name string, container v1.EphemeralContainer) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return c.post(ctx, "/debug", debugRequest{Namespace: namespace, Name: name, Container: container})
}

// SetCondition sets a condition of a pod that is not podctl's own, or removes it if its
// status is empty. The error is ErrNotFound if the process has no such pod.
func (c *Client) SetCondition(ctx context.Context, namespace, name string, condition v1.PodCondition) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return c.post(ctx, "/condition", conditionRequest{Namespace: namespace, Name: name, Condition: condition})
}
