// Command health is a gRPC health server for probes to ask: its service "app"
// serves once the file exists.
//
//	health PORT FILE
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

func serve(port, file string) error {
	l, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return err
	}
	status := health.NewServer()
	status.SetServingStatus("app", healthpb.HealthCheckResponse_NOT_SERVING)
	go func() {
		for !exists(file) {
			time.Sleep(100 * time.Millisecond)
		}
		status.SetServingStatus("app", healthpb.HealthCheckResponse_SERVING)
	}()
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, status)
	return server.Serve(l)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
