// Command health is a gRPC health server for probes to ask: its service "app"
// serves from the given time after its start on.
//
//	health PORT DELAY
package main

import (
	"log"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		log.Fatal("health: ", err)
	}
}

func serve(port, delay string) error {
	wait, err := time.ParseDuration(delay)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return err
	}
	status := health.NewServer()
	status.SetServingStatus("app", healthpb.HealthCheckResponse_NOT_SERVING)
	time.AfterFunc(wait, func() { status.SetServingStatus("app", healthpb.HealthCheckResponse_SERVING) })
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, status)
	return server.Serve(l)
}
