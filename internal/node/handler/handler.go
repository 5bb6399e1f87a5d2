package handler

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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
	// Brief returns a text without secrets and cut to a limit in bytes; one that is
	// as long as the limit may have been cut before. nil cuts.
	Brief func(text string, limit int) string
}

const (
	// maxOutput is how much of an output or a body is looked at, in bytes, and to
	// what every text is cut.
	maxOutput = 10 << 10
	// maxHeader is how long the header of an answer may be, in bytes.
	maxHeader = 64 << 10
)

// brief returns what is handed out of a text.
func (t Target) brief(text string) string {
	if t.Brief != nil {
		return t.Brief(text, maxOutput)
	}
	return text[:min(len(text), maxOutput)]
}

// briefError returns the error with its text cut. It is still what it was to
// errors.Is and errors.As.
func (t Target) briefError(err error) error {
	if err == nil || len(err.Error()) <= maxOutput {
		return err
	}
	return &truncatedError{err, t.brief(err.Error())}
}

type truncatedError struct {
	err  error
	text string
}

func (e *truncatedError) Error() string { return e.text }

func (e *truncatedError) Unwrap() error { return e.err }

// port returns the number of a port that is given by number or by the name of one
// of the container's ports (ResolveContainerPort in pkg/probe/util.go).
func port(p intstr.IntOrString, c *v1.Container) (int, error) {
	number := p.IntValue()
	if p.Type == intstr.String {
		named, ok := portNamed(p.StrVal, c)
		if !ok {
			return 0, fmt.Errorf("port %q not found", p.StrVal)
		}
		number = named
	}
	if number < 1 || number > 65535 {
		return 0, fmt.Errorf("invalid port number: %v", number)
	}
	return number, nil
}

func portNamed(name string, c *v1.Container) (int, bool) {
	for i := range c.Ports {
		if c.Ports[i].Name == name {
			return int(c.Ports[i].ContainerPort), true
		}
	}
	return 0, false
}

func address(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
