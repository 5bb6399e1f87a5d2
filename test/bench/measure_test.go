package main

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live/record"
)

func TestEvaluateStartsAndStops(t *testing.T) {
	begin := time.Now()
	stop := func(id string, at time.Duration, err error) record.Call {
		request, _ := proto.Marshal(&runtimeapi.StopPodSandboxRequest{PodSandboxId: id})
		return record.Call{Method: "StopPodSandbox", Request: request, Start: begin.Add((at - 1) * time.Second), End: begin.Add(at * time.Second), Err: err}
	}
	got := evaluate(begin, []record.Call{
		{Method: "StartContainer", Start: begin.Add(1 * time.Second / 2), End: begin.Add(1 * time.Second)},
		{Method: "ListPodSandbox", Start: begin.Add(2 * time.Second / 2), End: begin.Add(2 * time.Second)},
		{Method: "StartContainer", Start: begin.Add(3 * time.Second / 2), End: begin.Add(3 * time.Second)},
		stop("a", 4, errors.New("not yet")),
		stop("b", 5, nil),
		stop("a", 6, nil),
		stop("b", 7, nil),
		{Method: "RemovePodSandbox", Start: begin.Add(8 * time.Second / 2), End: begin.Add(8 * time.Second)},
	})
	want := result{
		first:   time.Second / 2,
		up:      time.Second,
		started: 3 * time.Second,
		stopped: 6 * time.Second,
		reads:   map[string]int{"ListPodSandbox": 1},
		changes: map[string]int{"StartContainer": 2, "StopPodSandbox": 4, "RemovePodSandbox": 1},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
