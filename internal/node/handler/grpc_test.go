package handler_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/handler"
)

// slow never answers.
type slow struct {
	healthpb.UnimplementedHealthServer
}

func (slow) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// serve serves gRPC until the test ends and returns its port.
func serve(t *testing.T, register func(*grpc.Server)) int32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	go func() { _ = server.Serve(l) }() // until Stop
	t.Cleanup(server.Stop)
	return int32(l.Addr().(*net.TCPAddr).Port)
}

func TestGRPCProbe(t *testing.T) {
	status := health.NewServer()
	status.SetServingStatus("down", healthpb.HealthCheckResponse_NOT_SERVING)
	healthy := serve(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, status) })
	plain := serve(t, func(*grpc.Server) {})
	hanging := serve(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, slow{}) })
	_, dead := targetOf(t, deadURL(t), "/")
	for name, c := range map[string]struct {
		port    int32
		service *string
		timeout int32
		want    string
	}{
		"the server":      {healthy, nil, 5, "success: service healthy"},
		"a service":       {healthy, new("down"), 5, `failure: service unhealthy (responded with "NOT_SERVING")`},
		"unknown service": {healthy, new("nope"), 5, "failure: error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"},
		"no health":       {plain, nil, 5, "failure: error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service grpc.health.v1.Health"},
		"no answer":       {hanging, nil, 1, "failure: timeout: health rpc did not complete within 1s"},
		"no server":       {int32(dead.Port.IntValue()), nil, 1, "failure: timeout: failed to connect service \"127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := probe(v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: c.port, Service: c.service}})
			p.TimeoutSeconds = c.timeout
			result, output, err := handler.Probe(t.Context(), nil, handler.Target{PodIP: "127.0.0.1"}, p)
			if got := result.String() + ": " + output; !strings.HasPrefix(got, c.want) || err != nil {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
}
