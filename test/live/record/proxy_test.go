package record

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtime answers four methods; the others are Unimplemented.
type runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
}

func (runtime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "fake"}, nil
}

func (runtime) RunPodSandbox(context.Context, *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: "made"}, nil
}

func (runtime) StopPodSandbox(context.Context, *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	return nil, status.Error(codes.NotFound, "no such sandbox")
}

func (runtime) GetContainerEvents(_ *runtimeapi.GetEventsRequest, s grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error {
	for _, id := range []string{"a", "b"} {
		if err := s.Send(&runtimeapi.ContainerEventResponse{ContainerId: id}); err != nil {
			return err
		}
	}
	<-s.Context().Done()
	return s.Context().Err()
}

func proxied(t *testing.T) (*Proxy, runtimeapi.RuntimeServiceClient) {
	t.Helper()
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, runtime{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	p, err := Start(filepath.Join(dir, "p"), "unix://"+filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	conn, err := grpc.NewClient(p.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return p, runtimeapi.NewRuntimeServiceClient(conn)
}

func TestAnswersAndErrorsPassUnchanged(t *testing.T) {
	p, client := proxied(t)
	version, err := client.Version(t.Context(), &runtimeapi.VersionRequest{})
	if err != nil || version.RuntimeName != "fake" {
		t.Errorf("version %v, %v", version, err)
	}
	_, err = client.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: "x"})
	if status.Code(err) != codes.NotFound || status.Convert(err).Message() != "no such sandbox" {
		t.Errorf("error %v", err)
	}
	_, err = client.UpdateRuntimeConfig(t.Context(), &runtimeapi.UpdateRuntimeConfigRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("error %v, want unimplemented", err)
	}
	calls := p.Take()
	if len(calls) != 3 {
		t.Fatalf("calls %v, want 3", calls)
	}
	for i, want := range []struct {
		method string
		read   bool
		code   codes.Code
	}{
		{"Version", true, codes.OK},
		{"StopPodSandbox", false, codes.NotFound},
		{"UpdateRuntimeConfig", false, codes.Unimplemented},
	} {
		c := calls[i]
		if c.Method != want.method || c.IsRead() != want.read || status.Code(c.Err) != want.code || c.End.Before(c.Start) {
			t.Errorf("call %d: %+v, want %+v", i, c, want)
		}
	}
	var stop runtimeapi.StopPodSandboxRequest
	if err := proto.Unmarshal(calls[1].Request, &stop); err != nil || stop.PodSandboxId != "x" {
		t.Errorf("noted request %v, %v", &stop, err)
	}
	if again := p.Take(); again != nil {
		t.Errorf("taken twice: %v", again)
	}
}

func TestAnswersOfMutatingCallsAreRecorded(t *testing.T) {
	p, client := proxied(t)
	if _, err := client.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{}); err != nil {
		t.Fatal(err)
	}
	calls := p.Take()
	if calls[0].Answer != nil {
		t.Errorf("answer of a read: %q", calls[0].Answer)
	}
	var made runtimeapi.RunPodSandboxResponse
	if err := proto.Unmarshal(calls[1].Answer, &made); err != nil || made.PodSandboxId != "made" {
		t.Errorf("noted answer %v, %v", &made, err)
	}
}

func TestStreamPassesUntilTheClientLeaves(t *testing.T) {
	p, client := proxied(t)
	ctx, cancel := context.WithCancel(t.Context())
	events, err := client.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a", "b"} {
		event, err := events.Recv()
		if err != nil || event.ContainerId != want {
			t.Fatalf("event %v, %v, want %q", event, err, want)
		}
	}
	if calls := p.Calls(); len(calls) != 0 {
		t.Errorf("an open stream was noted: %v", calls)
	}
	cancel()
	if _, err := events.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("after cancel: %v", err)
	}
}

func TestWatcherDelaysACall(t *testing.T) {
	p, client := proxied(t)
	seen := make(chan string, 2)
	p.Watch(
		func(c Call) { seen <- "begin " + c.Method },
		func(c Call) { seen <- "end " + c.Method + ", noted: " + p.Calls()[0].Method },
	)
	if _, err := client.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
		t.Fatal(err)
	}
	close(seen) // a watcher that came after the answer would panic
	var got []string
	for s := range seen {
		got = append(got, s)
	}
	if want := []string{"begin Version", "end Version, noted: Version"}; !slices.Equal(got, want) {
		t.Errorf("watchers saw %q, want %q", got, want)
	}
}
