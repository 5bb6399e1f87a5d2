package stop

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/pod"
)

// Terminator terminates and removes pods that no podctl process runs. It is safe for
// concurrent use.
type Terminator struct {
	Client *cri.Client
	// Names locks the names of pods meanwhile.
	Names *Names
	// Leftovers are removed with the containers of pods that podctl created.
	Leftovers host.Leftovers
}

// Request is a pod to terminate.
type Request struct {
	UID             types.UID
	Namespace, Name string
	// Ours: podctl created the pod or its directory, or may have. A podctl process that waits
	// with the name of another one locked is no obstacle.
	Ours bool
	// RemoveFiles: what the pod left on the host is podctl's, and removed with it.
	RemoveFiles bool
	// Look returns the pod as it is once its name is locked; nil if the runtime has
	// nothing of it. An error ends the termination before any call.
	Look func(context.Context) (*pod.Pod, error)
	cri.TerminateOptions
}

// Terminate locks the pod's name, looks at the pod again, and terminates it. With Remove,
// what the pod left on the host is removed, too.
func (t *Terminator) Terminate(ctx context.Context, r Request) (err error) {
	release, err := t.Names.Lock(r.Namespace, r.Name, r.Ours)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	p, err := r.Look(ctx)
	if err != nil {
		return err
	}
	if p != nil {
		if err := t.Client.TerminatePod(ctx, p, r.TerminateOptions); err != nil {
			return err
		}
	}
	if !r.Remove || !r.RemoveFiles {
		return nil
	}
	leftovers := t.Leftovers
	leftovers.Step, leftovers.DryRun = r.Step, r.DryRun
	return leftovers.Remove(ctx, r.UID, r.Namespace, r.Name)
}
