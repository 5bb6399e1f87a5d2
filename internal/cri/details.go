package cri

import "context"

// Details are what a runtime reports of a container or sandbox only when it is asked
// for more than its status. A zero field is not reported.
type Details struct {
	// PID of the first process in the runtime's PID namespace, 0 if none runs.
	PID int
	// NetNS is the path of the network namespace, "" for the host's.
	NetNS string
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
	_, v, err := c.verboseSandbox(ctx, id)
	return v.details(), err
}

func (v verboseInfo) details() Details {
	d := Details{PID: v.PID}
	for _, ns := range v.Spec.Linux.Namespaces {
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
