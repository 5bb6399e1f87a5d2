package cri

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Details are what a runtime reports of a container or sandbox only when it is asked
// for more than its status. A zero field is not reported.
type Details struct {
	// PID of the first process in the runtime's PID namespace, 0 if none runs.
	PID int
	// NetNS is the path of the network namespace, "" for the host's or if it is not reported.
	NetNS string
	// HostNetwork: the sandbox was asked to have the host's.
	HostNetwork bool
	// Namespaces are the paths of all namespaces that have one.
	Namespaces []string
	// NetworkHeld: the network of a sandbox has not been torn down, as far as the runtime
	// says.
	NetworkHeld bool
	// MemoryLimit is in bytes, nil without one.
	MemoryLimit *uint64
}

// ContainerDetails reads what containerd and CRI-O put into the verbose part of a
// container's status. A runtime that has none answers with the zero Details.
func (c *Client) ContainerDetails(ctx context.Context, id string) (Details, error) {
	_, v, err := c.verboseContainer(ctx, id)
	return v.details(), err
}

// SandboxDetails is ContainerDetails for a sandbox.
func (c *Client) SandboxDetails(ctx context.Context, id string) (Details, error) {
	r, v, err := c.verboseSandbox(ctx, id)
	d := v.details()
	d.HostNetwork = r.GetStatus().GetLinux().GetNamespaces().GetOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE
	return d, err
}

func (v verboseInfo) details() Details {
	d := Details{PID: v.PID}
	for _, ns := range v.Spec.Linux.Namespaces {
		if ns.Path == "" {
			continue
		}
		d.Namespaces = append(d.Namespaces, ns.Path)
		if ns.Type == "network" {
			d.NetNS = ns.Path
		}
	}
	d.NetworkHeld = d.NetNS != "" && v.NetNSClosed != nil && !*v.NetNSClosed
	if limit := v.Spec.Linux.Resources.Memory.Limit; limit > 0 {
		d.MemoryLimit = new(uint64(limit))
	}
	return d
}
