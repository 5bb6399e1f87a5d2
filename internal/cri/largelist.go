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

// A list that exceeds the largest gRPC message is streamed if the runtime supports it (the
// kubelet's feature gate CRIListStreaming), else read in parts by filters, where it has such.

// listSpec says how the objects of one kind are listed.
type listSpec struct {
	noun         string // in messages; "" if no filter divides them
	list, stream string // methods, in full
	// listRequest and streamRequest have no filter.
	listRequest, streamRequest proto.Message
	// partRequests are list requests whose answers together have all objects; listRequest alone
	// if no filter divides them. An object whose state changes in between is in two answers; the
	// last one counts.
	partRequests []proto.Message
	// split divides a part that is too large itself into smaller requests; nil if that is not
	// possible.
	split func(part proto.Message) []proto.Message
}

var sandboxListSpec = listSpec{
	noun: "sandboxes",
	list: runtimeapi.RuntimeService_ListPodSandbox_FullMethodName, listRequest: &runtimeapi.ListPodSandboxRequest{},
	stream: runtimeapi.RuntimeService_StreamPodSandboxes_FullMethodName, streamRequest: &runtimeapi.StreamPodSandboxesRequest{},
	partRequests: []proto.Message{sandboxesInState(runtimeapi.PodSandboxState_SANDBOX_READY), sandboxesInState(runtimeapi.PodSandboxState_SANDBOX_NOTREADY)},
}

func sandboxesInState(state runtimeapi.PodSandboxState) proto.Message {
	return &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{State: &runtimeapi.PodSandboxStateValue{State: state}}}
}

// containerListSpec lists the containers by state, and those of a state that are too many by
// sandbox.
func containerListSpec(sandboxes []sandboxEntry) listSpec {
	of := func(state runtimeapi.ContainerState, sandbox string) proto.Message {
		filter := &runtimeapi.ContainerFilter{State: &runtimeapi.ContainerStateValue{State: state}, PodSandboxId: sandbox}
		return &runtimeapi.ListContainersRequest{Filter: filter}
	}
	e := listSpec{
		noun: "containers",
		list: runtimeapi.RuntimeService_ListContainers_FullMethodName, listRequest: &runtimeapi.ListContainersRequest{},
		stream: runtimeapi.RuntimeService_StreamContainers_FullMethodName, streamRequest: &runtimeapi.StreamContainersRequest{},
	}
	// A container can become unknown from any state, so unknown is first and last.
	for _, state := range []runtimeapi.ContainerState{
		runtimeapi.ContainerState_CONTAINER_UNKNOWN, runtimeapi.ContainerState_CONTAINER_CREATED, runtimeapi.ContainerState_CONTAINER_RUNNING,
		runtimeapi.ContainerState_CONTAINER_EXITED, runtimeapi.ContainerState_CONTAINER_UNKNOWN,
	} {
		e.partRequests = append(e.partRequests, of(state, ""))
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

// wholeListSpec lists objects that no filter divides.
func wholeListSpec(list string, listRequest proto.Message, stream string, streamRequest proto.Message) listSpec {
	return listSpec{list: list, listRequest: listRequest, stream: stream, streamRequest: streamRequest, partRequests: []proto.Message{listRequest}}
}

// readList reads a list into answer, a message with the list in field 1.
func (c *conn) readList(ctx context.Context, e listSpec, answer proto.Message) error {
	if !c.listMode(e).large {
		err := c.Invoke(ctx, e.list, e.listRequest, answer)
		if !errors.Is(err, ErrTooLarge) {
			return err
		}
	}
	raw, err := c.readLargeList(ctx, e)
	if err != nil {
		return err
	}
	return proto.Unmarshal(raw, answer)
}

// listMode is how a list was read the last time. The zero value is one message.
type listMode struct {
	large       bool // too large for one message
	noStreaming bool // the runtime does not stream it
}

func (c *conn) listMode(e listSpec) listMode {
	c.listModesMu.Lock()
	defer c.listModesMu.Unlock()
	return c.listModes[e.list]
}

func (c *conn) setListMode(e listSpec, mode listMode) {
	c.listModesMu.Lock()
	defer c.listModesMu.Unlock()
	if c.listModes == nil {
		c.listModes = map[string]listMode{}
	}
	c.listModes[e.list] = mode
}

// readLargeList returns a list that is too large for one gRPC message, encoded as one message.
func (c *conn) readLargeList(ctx context.Context, e listSpec) (all []byte, err error) {
	mode := c.listMode(e)
	defer func() {
		mode.large = err != nil || len(all) > maxMessage/2 // if smaller, try one message again
		c.setListMode(e, mode)
	}()
	if !mode.noStreaming {
		all, err = c.readStream(ctx, e.stream, e.streamRequest)
		if !errors.Is(err, ErrUnsupported) {
			return all, err
		}
		mode.noStreaming = true
	}
	for _, part := range e.partRequests {
		raw, err := c.readPart(ctx, e, part)
		if err != nil {
			return nil, err
		}
		all = append(all, raw...) // concatenated messages merge their repeated fields
	}
	return all, nil
}

// readStream reads a streamed list within the timeout of one read-only call.
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

// readPart reads one part of a list, split further if it is too large.
func (c *conn) readPart(ctx context.Context, e listSpec, part proto.Message) ([]byte, error) {
	raw, err := c.readRaw(ctx, e.list, part)
	if !errors.Is(err, ErrTooLarge) {
		return raw, err
	}
	if e.split == nil {
		return nil, explainTooLarge(e, err)
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
		return nil, explainTooLarge(e, err)
	}
	return slices.Concat(answers...), nil
}

// readRaw returns the encoded answer of a list call.
func (c *conn) readRaw(ctx context.Context, method string, req proto.Message) (all []byte, err error) {
	err = c.Invoke(ctx, method, req, decoder(func(raw []byte) error {
		all = slices.Clone(raw)
		return nil
	}), grpc.ForceCodecV2(listCodec{}))
	return all, err
}

// explainTooLarge adds the cause and a hint to ErrTooLarge, if even a part is too large.
func explainTooLarge(e listSpec, err error) error {
	failed, ok := errors.AsType[*Error](err)
	switch {
	case !ok || !errors.Is(err, ErrTooLarge):
	case len(e.partRequests) == 1:
		failed.text = fmt.Sprintf("the list does not fit into one message, and the runtime does not stream it: %s", failed.text)
		failed.hint = streamHint
	default:
		failed.text = fmt.Sprintf("the runtime holds so many %s that not even those of one filter fit into a message: %s", e.noun, failed.text)
		failed.hint = removeDeadHint
	}
	return err
}

// streamHint is the hint for a list that cannot be divided.
const streamHint = "use a runtime that streams its lists, such as containerd 2.4"

// removeDeadHint is the hint for a runtime with too many dead containers.
const removeDeadHint = "remove pods that have ended, with their containers: podctl orphans lists those without an owner, podctl rm POD or crictl rmp SANDBOX removes one"

// reportLargeList reports, once per connection, that a list is too large for one message; a
// kubelet's relist may fail for it.
func (c *conn) reportLargeList(noun string, dead, all int) {
	c.largeListOnce.Do(func() {
		err := hint.Errorf(removeDeadHint, "the list of %s does not fit into one message of 16 MiB, and is read in another way: the runtime holds %d dead %s of %d; the relist of a kubelet fails on such a list",
			noun, dead, noun, all)
		if c.onLargeList == nil {
			c.log.Warn(err.Error())
			return
		}
		c.onLargeList(err)
	})
}

// lastByID keeps the last entry of each id, in order.
func lastByID[T listEntry](all []T) []T {
	seen := map[string]bool{}
	last := make([]T, 0, len(all))
	for _, e := range slices.Backward(all) {
		if id, _ := e.idAndState(); !seen[id] {
			seen[id] = true
			last = append(last, e)
		}
	}
	slices.Reverse(last)
	return last
}
