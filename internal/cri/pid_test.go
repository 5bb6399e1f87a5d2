package cri

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// verbose answers a status with what is for people, where that is asked for.
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
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{}, Info: map[string]string{"info": text}}, nil
}

func TestPIDIsReadFromWhatAStatusTellsPeople(t *testing.T) {
	s := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(s, verbose{info: map[string]string{
		"containerd": `{"sandboxID":"s","pid":8812,"removing":false}`, "silent": "", "ended": `{"pid":0}`, "broken": "{",
	}})
	c, err := Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: serveGRPC(t, s)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for id, want := range map[string]int{"containerd": 8812, "silent": 0, "ended": 0} {
		if pid, err := c.ContainerPID(t.Context(), id); pid != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", id, pid, err, want)
		}
	}
	if _, err := c.ContainerPID(t.Context(), "broken"); err == nil {
		t.Error("broken info is taken for none")
	}
	if _, err := c.ContainerPID(t.Context(), "gone"); !errors.Is(err, ErrNotFound) {
		t.Errorf("gone: %v", err)
	}
}
