package cri

import (
	"context"
	"encoding/json"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerPID is the container's first process on the host, 0 where the
// runtime does not tell or it runs no more. containerd and CRI-O tell it in the
// part of a status that is for people.
func (c *Client) ContainerPID(ctx context.Context, id string) (int, error) {
	r, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		return 0, err
	}
	text := r.GetInfo()["info"]
	if text == "" {
		return 0, nil
	}
	var info struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return 0, fmt.Errorf("read pid of container %s: %w", shortID(id), err)
	}
	return info.PID, nil
}
