package bare

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Client is a connection to a CRI socket, with the generated clients as they
// are.
type Client struct {
	Runtime runtimeapi.RuntimeServiceClient
	Images  runtimeapi.ImageServiceClient
	conn    *grpc.ClientConn
}

// Dial connects to an endpoint such as unix:///run/x.sock. It does not block:
// the first call connects.
func Dial(endpoint string) (*Client, error) {
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		return nil, fmt.Errorf("connect %q: %w", endpoint, err)
	}
	return &Client{
		Runtime: runtimeapi.NewRuntimeServiceClient(conn),
		Images:  runtimeapi.NewImageServiceClient(conn),
		conn:    conn,
	}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Pull pulls an image, with credentials or nil, and returns its id.
func (c *Client) Pull(ctx context.Context, image string, auth *runtimeapi.AuthConfig) (string, error) {
	resp, err := c.Images.PullImage(ctx, &runtimeapi.PullImageRequest{
		Image: &runtimeapi.ImageSpec{Image: image, UserSpecifiedImage: image},
		Auth:  auth,
	})
	return resp.GetImageRef(), err
}

// List returns "sandbox ID" and "container ID" of all that the runtime at the
// endpoint holds, whatever its state.
func List(endpoint string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := Dial(endpoint)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	sandboxes, err := c.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	containers, err := c.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	var all []string
	for _, s := range sandboxes.Items {
		all = append(all, "sandbox "+s.Id)
	}
	for _, s := range containers.Containers {
		all = append(all, "container "+s.Id)
	}
	return all, nil
}

// Subscribe opens the event stream and returns once the runtime has the subscription.
// A runtime without events says so when the stream is read.
func (c *Client) Subscribe(ctx context.Context) (runtimeapi.RuntimeService_GetContainerEventsClient, error) {
	events, err := c.Runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return nil, err
	}
	// A server sends nothing when it accepts a stream, but it reads one connection
	// in order: by its answer to this it has the subscription.
	_, err = c.Runtime.Version(ctx, &runtimeapi.VersionRequest{})
	return events, err
}
