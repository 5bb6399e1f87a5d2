package handler

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
)

// grpcProbe asks the health service, without TLS; SERVING is the one good
// answer (pkg/probe/grpc/grpc.go).
func grpcProbe(ctx context.Context, t Target, g *v1.GRPCAction, timeout time.Duration) (Result, string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	addr := address(t.PodIP, int(g.Port))
	conn, err := connect(ctx, addr)
	if err != nil {
		return Failure, fmt.Sprintf("timeout: failed to connect service %q within %v: %v", addr, timeout, err)
	}
	defer conn.Close()
	var req health.HealthCheckRequest
	if g.Service != nil {
		req.Service = *g.Service
	}
	resp, err := health.NewHealthClient(conn).Check(ctx, &req)
	switch stat, _ := status.FromError(err); {
	case err == nil && resp.GetStatus() == health.HealthCheckResponse_SERVING:
		return Success, "service healthy"
	case err == nil:
		return Failure, fmt.Sprintf("service unhealthy (responded with %q)", resp.GetStatus())
	case stat.Code() == codes.Unimplemented:
		return Failure, "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " + stat.Message()
	case stat.Code() == codes.DeadlineExceeded:
		return Failure, fmt.Sprintf("timeout: health rpc did not complete within %v", timeout)
	default:
		return Failure, fmt.Sprintf("error: health rpc probe failed: %v", err)
	}
}

// connect waits until the server answers; one that refuses is tried again
// until ctx ends.
func connect(ctx context.Context, addr string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithUserAgent(probeAgent),
		grpc.WithMaxHeaderListSize(maxHeader),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return dialer().DialContext(ctx, "tcp", addr)
		}))
	if err != nil {
		return nil, err
	}
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if state == connectivity.Idle {
			conn.Connect()
		}
		if !conn.WaitForStateChange(ctx, state) {
			_ = conn.Close() // it never opened
			return nil, ctx.Err()
		}
	}
	return conn, nil
}
