package cri

import (
	"context"
	"encoding/json"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Info returns what the runtime reports about itself beyond the CRI: JSON by name,
// in the runtime's own form. Parts of it may be missing.
func (c *Client) Info(ctx context.Context) (map[string]string, error) {
	r, err := c.runtime.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
	if err != nil {
		return nil, err
	}
	return r.Info, nil
}

// SandboxImage returns the image of sandboxes, "" where the runtime does not name it
// (containerd since 2.0, which marks it as pinned).
func (c *Client) SandboxImage(ctx context.Context) (string, error) {
	info, err := c.Info(ctx)
	if err != nil {
		return "", err
	}
	var config struct {
		SandboxImage string `json:"sandboxImage"`
	}
	if json.Unmarshal([]byte(info["config"]), &config) != nil {
		return "", nil // another runtime's form
	}
	return config.SandboxImage, nil
}
