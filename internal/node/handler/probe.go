package handler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Result is what a probe found.
type Result uint8

const (
	// Unknown: the question could not be put.
	Unknown Result = iota
	// Success: the container answered well.
	Success
	// Failure: the container answered badly, or not in time.
	Failure
	// Warning is a success about which something is to be said.
	Warning
)

func (r Result) String() string {
	return [...]string{Unknown: "unknown", Success: "success", Failure: "failure", Warning: "warning"}[r]
}

// Probe asks the container once and says what it answered, in at most 10 KiB.
// An error is no answer: the question could not be put, or ctx has ended
// (runProbe in pkg/kubelet/prober/prober.go).
func Probe(ctx context.Context, x Execer, t Target, p *v1.Probe) (result Result, output string, err error) {
	timeout := time.Duration(p.TimeoutSeconds) * time.Second
	switch {
	case p.Exec != nil:
		result, output, err = execProbe(ctx, x, t, p.Exec.Command, timeout)
	case p.HTTPGet != nil:
		result, output, err = httpProbe(ctx, t, p.HTTPGet, timeout)
	case p.TCPSocket != nil:
		result, output, err = tcpProbe(ctx, t, p.TCPSocket, timeout)
	case p.GRPC != nil:
		result, output = grpcProbe(ctx, t, p.GRPC, timeout)
	default:
		return Unknown, "", errors.New("missing probe handler")
	}
	if ctx.Err() != nil {
		return Unknown, "", context.Cause(ctx)
	}
	return result, t.brief(output), t.briefError(err)
}

func execProbe(ctx context.Context, x Execer, t Target, command []string, timeout time.Duration) (Result, string, error) {
	expanded, err := expand(command, t.Container)
	if err != nil {
		return Unknown, "", err
	}
	output, code, err := x.Exec(ctx, t.ContainerID, expanded, timeout)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Failure, fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(command, " "), timeout), nil
	case err != nil:
		return Unknown, "", err
	case code != 0:
		return Failure, string(output), nil
	}
	return Success, string(output), nil
}

// expand puts the container's literal variables into a command; those that
// come from elsewhere count as empty, and unknown ones stay references
// (ExpandContainerCommandOnlyStatic in pkg/kubelet/container/helpers.go). The error is a
// pod.ErrExpansion.
func expand(command []string, c *v1.Container) ([]string, error) {
	values := map[string]string{}
	if c != nil {
		for i := range c.Env {
			values[c.Env[i].Name] = c.Env[i].Value
		}
	}
	out := make([]string, 0, len(command))
	left := pod.MaxExpanded
	for _, arg := range command {
		expanded, err := pod.Expand(arg, left, func(name string) (string, bool) {
			value, ok := values[name]
			return value, ok
		})
		if err != nil {
			return nil, err
		}
		left -= len(expanded)
		out = append(out, expanded)
	}
	return out, nil
}

// tcpProbe succeeds if the port can be connected to (pkg/probe/tcp/tcp.go).
func tcpProbe(ctx context.Context, t Target, socket *v1.TCPSocketAction, timeout time.Duration) (Result, string, error) {
	number, err := port(socket.Port, t.Container)
	if err != nil {
		return Unknown, "", err
	}
	d := dialer()
	d.Timeout = timeout
	conn, err := d.DialContext(ctx, "tcp", address(requestHost(socket.Host, t), number))
	if err != nil {
		return Failure, err.Error(), nil
	}
	_ = conn.Close() // it was open
	return Success, "", nil
}

// dialer opens connections that linger for a second only: those of probes are
// many and short (pkg/probe/dialer_others.go).
func dialer() *net.Dialer { return &net.Dialer{Control: linger} }
