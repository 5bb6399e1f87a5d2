package cri

import (
	"context"
	"errors"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// RunPodSandbox creates and starts a sandbox and returns its id. handler is
// the runtime handler, "" for the default. ErrNameReserved: raise the attempt.
func (c *Client) RunPodSandbox(ctx context.Context, cfg *runtimeapi.PodSandboxConfig, handler string) (string, error) {
	req := &runtimeapi.RunPodSandboxRequest{Config: cfg, RuntimeHandler: handler}
	r, err := c.runtime.RunPodSandbox(ctx, req)
	if err != nil {
		return "", err
	}
	if r.PodSandboxId == "" {
		return "", answerError("RunPodSandbox", objectOf(req), "the runtime answered without an id")
	}
	c.own.created(r.PodSandboxId)
	c.changes.noteCreated(cfg.GetLabels(), r.PodSandboxId, "", c.now())
	return r.PodSandboxId, nil
}

// StopPodSandbox kills what runs in the sandbox and gives its network back. It
// may be repeated; a sandbox that is gone is no error.
func (c *Client) StopPodSandbox(ctx context.Context, id string) error {
	_, err := c.runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: id})
	return gone(err)
}

// RemovePodSandbox removes the sandbox and its containers, running or not. It
// may be repeated; a sandbox that is gone is no error.
func (c *Client) RemovePodSandbox(ctx context.Context, id string) error {
	_, err := c.runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: id})
	return c.removed(id, err)
}

// removed notes a removal that was confirmed.
func (c *Client) removed(id string, err error) error {
	if err = gone(err); err == nil {
		c.changes.noteRemoved(id, c.now())
	}
	return err
}

// gone makes success of ErrNotFound, where the CRI asks for it: containerd 1.6
// and CRI-O do not all follow.
func gone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Manifest returns the two annotations that podctl puts on a sandbox: the
// pod's document, as packed, and its owner; "" for what is not there.
func (c *Client) Manifest(ctx context.Context, sandboxID string) (raw, owner string, err error) {
	r, err := c.sandboxStatus(ctx, sandboxID)
	if err != nil {
		return "", "", err
	}
	a := podctlAnnotations(r.Status.Annotations)
	return a[pod.ManifestAnnotation], a[pod.OwnerAnnotation], nil
}

// sandboxStatus answers with a status, or an error.
func (c *Client) sandboxStatus(ctx context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
	r, err := c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil {
		return nil, err
	}
	if r.Status == nil {
		return nil, answerError("PodSandboxStatus", pod.ShortID(id), "the runtime answered without a status")
	}
	return r, nil
}

// SandboxIPs returns the IPs of a sandbox, none if it uses the host's network.
func (c *Client) SandboxIPs(ctx context.Context, id string) ([]string, error) {
	r, err := c.sandboxStatus(ctx, id)
	if err != nil {
		return nil, err
	}
	return sandboxIPs(r.Status.Network), nil
}

// SandboxReady reports whether a sandbox is ready.
func (c *Client) SandboxReady(ctx context.Context, id string) (bool, error) {
	r, err := c.sandboxStatus(ctx, id)
	if err != nil {
		return false, err
	}
	return r.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_READY, nil
}
