package handler

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Execer runs a command in a container and answers with what it wrote, stdout
// first, and its exit code. A timeout of 0 is none; one that ran out is an
// error that is context.DeadlineExceeded.
type Execer interface {
	Exec(ctx context.Context, containerID string, command []string, timeout time.Duration) (output []byte, exitCode int32, err error)
}

// Target is what the action is done to.
type Target struct {
	// ContainerID is for exec.
	ContainerID string
	// Container names the ports, and its literal variables are expanded in a
	// probe's command. Required for all but exec and sleep hooks.
	Container *v1.Container
	// PodIP is where the pod is reached, "" where it has no address yet.
	PodIP string
}

// maxOutput is how much of an output or a body is looked at, in bytes.
const maxOutput = 10 << 10

// ExitError is a command that ran and exited with another code than 0.
type ExitError struct{ Code int32 }

func (e *ExitError) Error() string { return fmt.Sprintf("command exited with %d", e.Code) }

func limited(b []byte) string { return string(b[:min(len(b), maxOutput)]) }
