package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/sys/hint"
)

// A list of everything that is larger than gRPC transfers at once is streamed, by a runtime
// that can (the kubelet's feature CRIListStreaming), else read in parts, by filters.

// everything says how one kind of things is listed.
type everything struct {
	noun         string // in messages
	list, stream string // methods, in full
	// whole and streamed are the requests of everything.
	whole, streamed proto.Message
	// parts are requests whose answers together are everything. What changes meanwhile is
	// in a later one again: its last entry counts.
	parts []proto.Message
	// split returns requests in place of a part that is too large itself; nil if there are
	// none.
	split func(part proto.Message) []proto.Message
}

var allSandboxes = everything{
	noun: "sandboxes",
	list: runtimeapi.RuntimeService_ListPodSandbox_FullMethodName, whole: &runtimeapi.ListPodSandboxRequest{},
	stream: runtimeapi.RuntimeService_StreamPodSandboxes_FullMethodName, streamed: &runtimeapi.StreamPodSandboxesRequest{},
	parts: []proto.Message{sandboxesOf(runtimeapi.PodSandboxState_SANDBOX_READY), sandboxesOf(runtimeapi.PodSandboxState_SANDBOX_NOTREADY)},
}

func sandboxesOf(state runtimeapi.PodSandboxState) proto.Message {
	return &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{State: &runtimeapi.PodSandboxStateValue{State: state}}}
}

// allContainers lists the containers; those of one state that are too many, by sandbox.
func allContainers(sandboxes []sandboxEntry) everything {
	of := func(state runtimeapi.ContainerState, sandbox string) proto.Message {
		filter := &runtimeapi.ContainerFilter{State: &runtimeapi.ContainerStateValue{State: state}, PodSandboxId: sandbox}
		return &runtimeapi.ListContainersRequest{Filter: filter}
	}
	e := everything{
		noun: "containers",
		list: runtimeapi.RuntimeService_ListContainers_FullMethodName, whole: &runtimeapi.ListContainersRequest{},
		stream: runtimeapi.RuntimeService_StreamContainers_FullMethodName, streamed: &runtimeapi.StreamContainersRequest{},
	}
	// A container becomes unknown from any state.
	for _, state := range []runtimeapi.ContainerState{
		runtimeapi.ContainerState_CONTAINER_UNKNOWN, runtimeapi.ContainerState_CONTAINER_CREATED, runtimeapi.ContainerState_CONTAINER_RUNNING,
		runtimeapi.ContainerState_CONTAINER_EXITED, runtimeapi.ContainerState_CONTAINER_UNKNOWN,
	} {
		e.parts = append(e.parts, of(state, ""))
	}
	e.split = func(part proto.Message) []proto.Message {
		state := part.(*runtimeapi.ListContainersRequest).Filter.State.State
		requests := make([]proto.Message, len(sandboxes))
		for i, s := range sandboxes {
			requests[i] = of(state, s.ID)
		}
		return requests
	}
	return e
}

// wayOfList is how a list of everything was read the last time.
type wayOfList struct {
	large     bool // not at once
	noStreams bool // the runtime has none
}

// readLarge returns the entries of a list that is too large, as one message, and the way
// that led to it.
func (c *conn) readLarge(ctx context.Context, e everything, way wayOfList) ([]byte, wayOfList, error) {
	way.large = true
	if !way.noStreams {
		raw, err := c.readStream(ctx, e.stream, e.streamed)
		if !errors.Is(err, ErrUnsupported) {
			return raw, way, err
		}
		way.noStreams = true
	}
	var all []byte
	for _, part := range e.parts {
		raw, err := c.readPart(ctx, e, part)
		if err != nil {
			return nil, way, err
		}
		all = append(all, raw...) // repeated fields go on
	}
	return all, way, nil
}

// readStream reads a streamed list, within the time of a call that reads.
func (c *conn) readStream(ctx context.Context, method string, req proto.Message) (all []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if c.watcher != nil {
		end := c.watcher.Begin(path.Base(method), "")
		defer func() { end(err) }()
	}
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(listCodec{}))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.SendMsg(req), s.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	add := decoder(func(raw []byte) error {
		all = append(all, raw...)
		return nil
	})
	for {
		switch err := s.RecvMsg(add); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
	}
}

func (c *conn) readPart(ctx context.Context, e everything, part proto.Message) ([]byte, error) {
	raw, err := c.readRaw(ctx, e.list, part)
	if !errors.Is(err, ErrTooLarge) {
		return raw, err
	}
	if e.split == nil {
		return nil, tooLarge(e, err)
	}
	requests := e.split(part)
	answers := make([][]byte, len(requests))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, req := range requests {
		g.Go(func() (err error) {
			answers[i], err = c.readRaw(ctx, e.list, req)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, tooLarge(e, err)
	}
	return slices.Concat(answers...), nil
}

func (c *conn) readRaw(ctx context.Context, method string, req proto.Message) (all []byte, err error) {
	err = c.Invoke(ctx, method, req, decoder(func(raw []byte) error {
		all = slices.Clone(raw)
		return nil
	}), grpc.ForceCodecV2(listCodec{}))
	return all, err
}

// tooLarge explains a list that no way leads to.
func tooLarge(e everything, err error) error {
	if failed, ok := errors.AsType[*Error](err); ok && errors.Is(err, ErrTooLarge) {
		failed.text = fmt.Sprintf("the runtime holds so many %s that not even those of one filter fit into a message: %s", e.noun, failed.text)
		failed.hint = removeDead
	}
	return err
}

// removeDead is what to do about a runtime that holds too much.
const removeDead = "remove pods that have ended, with their containers: podctl orphans lists those of nobody, podctl rm POD or crictl rmp SANDBOX removes one"

// reportLarge reports, once for a connection, that a list is too large for one message,
// which a kubelet's relist may fail of.
func (c *conn) reportLarge(noun string, dead, all int) {
	c.large.Do(func() {
		err := hint.Errorf(removeDead, "the list of %s does not fit into one message of 16 MiB, and is read in another way: the runtime holds %d dead %s of %d; the relist of a kubelet fails on such a list",
			noun, dead, noun, all)
		if c.onLarge == nil {
			c.log.Warn(err.Error())
			return
		}
		c.onLarge(err)
	})
}

// lastOfEach leaves out entries of which a later one has the same id.
func lastOfEach[T listed](all []T) []T {
	seen := map[string]bool{}
	last := make([]T, 0, len(all))
	for _, e := range slices.Backward(all) {
		if id, _ := e.listed(); !seen[id] {
			seen[id] = true
			last = append(last, e)
		}
	}
	slices.Reverse(last)
	return last
}
