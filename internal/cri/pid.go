package cri

import (
	"context"
	"strconv"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// ContainerProcess is what a runtime reports about the processes of a container.
type ContainerProcess struct {
	// PID of the first process in the runtime's PID namespace, 0 if the runtime
	// does not report it or the container is not running.
	PID int
	// PreStop: the container was created with a preStop hook.
	PreStop bool
	// Grace is the grace period with which it was created, nil if unknown.
	Grace *time.Duration
	// StopSignal is the signal by which the runtime asks it to end ("SIGQUIT"), "" where
	// the runtime does not say it.
	StopSignal string
	// Snapshot is containerd's name of the container's file system, Snapshotter what
	// keeps it; "" where the runtime does not report them.
	Snapshot, Snapshotter string
}

// ContainerProcess reads the first process of a container. containerd and
// CRI-O report it in the verbose part of a status.
func (c *Client) ContainerProcess(ctx context.Context, id string) (ContainerProcess, error) {
	r, v, err := c.verboseContainer(ctx, id)
	if err != nil {
		return ContainerProcess{}, err
	}
	annotations := r.GetStatus().GetAnnotations()
	p := ContainerProcess{PreStop: annotations[pod.PreStopAnnotation] != "", StopSignal: stopSignal(r.GetStatus().GetStopSignal())}
	if seconds, err := strconv.ParseInt(annotations[pod.TerminationGraceAnnotation], 10, 32); err == nil {
		grace := time.Duration(seconds) * time.Second
		p.Grace = &grace
	}
	p.PID, p.Snapshot, p.Snapshotter = v.PID, v.Snapshot, v.Snapshotter
	return p, nil
}
