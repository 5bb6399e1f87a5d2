package cri

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// verbose answers a verbose status.
type verbose struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	info map[string]string // by container id
}

func (verbose) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "fake", RuntimeApiVersion: "v1"}, nil
}

func (v verbose) ContainerStatus(_ context.Context, r *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	text, ok := v.info[r.ContainerId]
	if !ok || !r.Verbose {
		return nil, status.Error(codes.NotFound, "no such container")
	}
	s := &runtimeapi.ContainerStatus{}
	if r.ContainerId == "hooked" {
		s.Annotations = map[string]string{pod.PreStopAnnotation: `{"exec":{"command":["sleep","9"]}}`}
		s.StopSignal = runtimeapi.Signal_SIGNAL_SIGRTMINPLUS3
	}
	return &runtimeapi.ContainerStatusResponse{Status: s, Info: map[string]string{"info": text}}, nil
}

func TestContainerProcessIsReadFromTheVerboseStatus(t *testing.T) {
	s := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(s, verbose{info: map[string]string{
		"containerd": `{"sandboxID":"s","pid":8812,"removing":false}`, "silent": "", "ended": `{"pid":0}`, "broken": "{", "hooked": `{"pid":7}`,
	}})
	c, err := Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: serveGRPC(t, s)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for id, want := range map[string]ContainerProcess{"containerd": {PID: 8812}, "silent": {}, "ended": {}, "hooked": {PID: 7, PreStop: true, StopSignal: "SIGRTMIN+3"}} {
		if p, err := c.ContainerProcess(t.Context(), id); p != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", id, p, err, want)
		}
	}
	if _, err := c.ContainerProcess(t.Context(), "broken"); err == nil {
		t.Error("broken info is taken for none")
	}
	if _, err := c.ContainerProcess(t.Context(), "gone"); !errors.Is(err, ErrNotFound) {
		t.Errorf("gone: %v", err)
	}
}
