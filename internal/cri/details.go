package cri

import (
	"context"
	"encoding/json"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Details are what a runtime reports of a container or sandbox only when it is asked
// for more than its status. A zero field is not reported.
type Details struct {
	// PID of the first process in the runtime's PID namespace, 0 if none runs.
	PID int
	// NetNS is the path of the network namespace, "" for the host's.
	NetNS string
	// Cgroup is as the OCI runtime was told: a path, or SLICE:PREFIX:NAME.
	Cgroup string
	// CPULimit is in cores and MemoryLimit in bytes, nil without one.
	CPULimit    *float64
	MemoryLimit *uint64
}

// ContainerDetails reads what containerd and CRI-O put into the verbose part of a
// container's status. A runtime that has none answers with the zero Details.
func (c *Client) ContainerDetails(ctx context.Context, id string) (Details, error) {
	r, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		return Details{}, err
	}
	return readDetails(r.GetInfo(), "container "+pod.ShortID(id))
}

// SandboxDetails is ContainerDetails for a sandbox.
func (c *Client) SandboxDetails(ctx context.Context, id string) (Details, error) {
	r, err := c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id, Verbose: true})
	if err != nil {
		return Details{}, err
	}
	return readDetails(r.GetInfo(), "sandbox "+pod.ShortID(id))
}

// verboseInfo is the part of the verbose information that containerd and CRI-O share.
type verboseInfo struct {
	PID         int `json:"pid"`
	RuntimeSpec struct {
		Linux struct {
			CgroupsPath string `json:"cgroupsPath"`
			Namespaces  []struct {
				Type string `json:"type"`
				Path string `json:"path"`
			} `json:"namespaces"`
			Resources struct {
				Memory struct {
					Limit int64 `json:"limit"`
				} `json:"memory"`
				CPU struct {
					Quota  int64  `json:"quota"`
					Period uint64 `json:"period"`
				} `json:"cpu"`
			} `json:"resources"`
		} `json:"linux"`
	} `json:"runtimeSpec"`
}

func readDetails(info map[string]string, what string) (Details, error) {
	text := info["info"]
	if text == "" {
		return Details{}, nil
	}
	var v verboseInfo
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return Details{}, fmt.Errorf("read details of %s: %w", what, err)
	}
	linux := v.RuntimeSpec.Linux
	d := Details{PID: v.PID, Cgroup: linux.CgroupsPath}
	for _, ns := range linux.Namespaces {
		if ns.Type == "network" {
			d.NetNS = ns.Path
		}
	}
	if limit := linux.Resources.Memory.Limit; limit > 0 {
		bytes := uint64(limit)
		d.MemoryLimit = &bytes
	}
	if cpu := linux.Resources.CPU; cpu.Quota > 0 && cpu.Period > 0 {
		cores := float64(cpu.Quota) / float64(cpu.Period)
		d.CPULimit = &cores
	}
	return d, nil
}
