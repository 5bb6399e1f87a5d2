// Command ready waits until a CRI socket answers and both the runtime and its
// network are ready, and prints the runtime's name and version.
//
//	ready [-timeout 30s] [-image NAME] ENDPOINT
//
// With -image the runtime must hold that image too. It exits 1 with the last
// reason if the time is over.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// pollEvery is short because every start of a private runtime waits for it.
const pollEvery = 50 * time.Millisecond

func main() {
	timeout := flag.Duration("timeout", 30*time.Second, "how long to wait")
	image := flag.String("image", "", "an `image` that the runtime must hold")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: ready [-timeout D] [-image NAME] ENDPOINT")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	version, err := wait(ctx, flag.Arg(0), *image)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ready:", err)
		os.Exit(1)
	}
	fmt.Println(version)
}

func wait(ctx context.Context, endpoint, image string) (string, error) {
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", fmt.Errorf("connect %q: %w", endpoint, err)
	}
	defer conn.Close()
	for {
		version, err := ask(ctx, conn, image)
		if err == nil {
			return version, nil
		}
		conn.ResetConnectBackoff()
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return "", fmt.Errorf("wait for %q: %w", endpoint, err)
		}
	}
}

// ask returns the version of a runtime that is ready, or why it is not.
func ask(ctx context.Context, conn *grpc.ClientConn, image string) (string, error) {
	client := runtimeapi.NewRuntimeServiceClient(conn)
	version, err := client.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return "", err
	}
	status, err := client.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return "", err
	}
	for _, c := range status.GetStatus().GetConditions() {
		switch c.Type {
		case runtimeapi.RuntimeReady, runtimeapi.NetworkReady:
			if !c.Status {
				return "", fmt.Errorf("%s is false: %s: %s", c.Type, c.Reason, c.Message)
			}
		}
	}
	if image != "" {
		held, err := runtimeapi.NewImageServiceClient(conn).ImageStatus(ctx,
			&runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image, UserSpecifiedImage: image}})
		if err != nil {
			return "", err
		}
		if held.GetImage() == nil {
			return "", errors.New("no image " + image)
		}
	}
	return version.GetRuntimeName() + " " + version.GetRuntimeVersion(), nil
}
