package handler

import (
	"context"
	"net"
	"time"

	v1 "k8s.io/api/core/v1"
)

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
