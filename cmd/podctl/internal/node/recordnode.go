package node

import (
	"context"
	"fmt"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/lab/tape"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
)

// recordNode records what the runtime does not know: the owners of its pods, and the processes
// and cgroups of the node. What cannot be read is not on the tape.
func (o recordOptions) recordNode(ctx context.Context, e *shell.Env, client *cri.Client, r *tape.Recorder) error {
	answers, err := o.askOwners(ctx, e, client)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		fmt.Fprintf(e.Errw, "warning: the owners of the pods are not recorded: %v\n", err)
		answers = owners.NotAsked()
	default:
		saved := answers.Save()
		saved.ReadObjects(ctx, e.Dial)
		if err := r.Writer.AddOwners(saved); err != nil {
			return err
		}
	}
	if err := r.Writer.AddNode(arrival.Save(readNode(ctx, e, preemptOptions{Globals: o.Globals}))); err != nil {
		return err
	}
	if cri.ServerOf(client.Endpoint()).PID == 0 || client.Connected().Name == sim.Name {
		return nil // its containers are no processes of this host, or cannot be seen
	}
	return r.Host(ctx, tape.HostOptions{Procs: e.Procs, Cgroups: e.CgroupMounts(), MountsOf: answers.Kubelet.PID})
}

// askOwners asks everybody who may own a pod of the runtime.
func (o recordOptions) askOwners(ctx context.Context, e *shell.Env, client *cri.Client) (*owners.Answers, error) {
	paths, err := o.Paths(client.Endpoint())
	if err != nil {
		return nil, err
	}
	listed, err := client.ListPods(ctx)
	if err != nil {
		return nil, err
	}
	r := shell.NewReader(e, paths.Locks)
	r.Kubelet, r.CountUndesired, r.ReadExits = owners.KubeletAlways, true, true
	return r.Ask(ctx, client, listed)
}
