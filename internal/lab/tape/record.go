package tape

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
)

// Recorder asks a runtime what only reads, and adds the answers to a tape. Its methods are called
// one after the other.
type Recorder struct {
	// Runtime and Image are connections of package cri to the runtime's services.
	Runtime, Image grpc.ClientConnInterface
	Now            func() time.Time
	Writer         *Writer

	// listed are hashes of the sandboxes and containers of the last lists, by id.
	listed map[string][sha256.Size]byte

	mu  sync.Mutex
	err error // of an answer that cannot be recorded
	// round are answers that are about one state of the runtime: on the tape all of them have
	// the time of the last.
	round []prepared
}

// Snapshot asks everything once. An error of the runtime is on the tape; the one returned is of
// the tape, or of ctx.
func (r *Recorder) Snapshot(ctx context.Context) error {
	var asking sync.WaitGroup // some of them may hang
	for _, request := range []struct {
		name    string
		message proto.Message
	}{
		{"Version", &runtimeapi.VersionRequest{}},
		{"Status", &runtimeapi.StatusRequest{Verbose: true}},
		{"RuntimeConfig", &runtimeapi.RuntimeConfigRequest{}},
		{"ListImages", &runtimeapi.ListImagesRequest{}},
		{"ImageFsInfo", &runtimeapi.ImageFsInfoRequest{}},
		{"ListPodSandboxStats", &runtimeapi.ListPodSandboxStatsRequest{}},
		{"ListContainerStats", &runtimeapi.ListContainerStatsRequest{}},
	} {
		asking.Go(func() { r.ask(ctx, request.name, request.message) })
	}
	asking.Wait()
	r.listed = nil // all statuses
	return r.relist(ctx)
}

// Follow relists for some time, or until ctx is canceled: each period, and after each event if
// events is set. What is listed otherwise than before is asked for its status.
func (r *Recorder) Follow(ctx context.Context, last, period time.Duration, events bool) error {
	came := make(chan struct{}, 1)
	var streaming sync.WaitGroup
	defer streaming.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	if events {
		streaming.Go(func() {
			if err := r.events(ctx, came); err != nil {
				failed <- err
			}
		})
	}
	tick, end := time.NewTicker(period), time.NewTimer(last)
	defer tick.Stop()
	defer end.Stop()
	for {
		select {
		case <-tick.C:
		case <-came:
		case err := <-failed:
			return err
		case <-end.C:
			return nil
		case <-ctx.Done():
			return nil
		}
		if err := r.relist(ctx); err != nil {
			return ignoreEnd(ctx, err)
		}
	}
}

// ignoreEnd is nil if ctx has ended, which is how recording ends.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// events adds the events of the runtime until their stream ends, and says that some came.
func (r *Recorder) events(ctx context.Context, came chan<- struct{}) error {
	m := methods()[eventsCall]
	ended := func(err error) error {
		if ctx.Err() != nil {
			return nil
		}
		why := status.Convert(err)
		if errors.Is(err, io.EOF) {
			why = status.New(codes.OK, "")
		}
		return r.Writer.Add(Call{Method: m.full, Status: why, At: r.Now()})
	}
	stream, err := runtimeapi.NewRuntimeServiceClient(r.Runtime).GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return ended(err)
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return ended(err)
		}
		response, err := canonical(event)
		if err != nil {
			return err
		}
		if err := r.Writer.Add(Call{Method: m.full, Response: response, At: r.Now()}); err != nil {
			return err
		}
		select {
		case came <- struct{}{}:
		default:
		}
	}
}

// relist lists sandboxes and containers, asks for the status of those that are listed otherwise
// than before, and adds all answers.
func (r *Recorder) relist(ctx context.Context) error {
	listed := map[string][sha256.Size]byte{}
	type status struct {
		id, name string
		request  proto.Message
	}
	var changed []status
	add := func(id string, entry proto.Message, name string, request proto.Message) {
		bytes, _ := canonical(entry) // it was decoded
		was, known := r.listed[id]
		if listed[id] = sha256.Sum256(bytes); !known || listed[id] != was {
			changed = append(changed, status{id, name, request})
		}
	}
	sandboxes, _ := r.ask(ctx, "ListPodSandbox", &runtimeapi.ListPodSandboxRequest{}).(*runtimeapi.ListPodSandboxResponse)
	containers, _ := r.ask(ctx, "ListContainers", &runtimeapi.ListContainersRequest{}).(*runtimeapi.ListContainersResponse)
	r.Writer.expect(2 * (len(sandboxes.GetItems()) + len(containers.GetContainers())))
	for _, s := range sandboxes.GetItems() {
		add(s.GetId(), s, "PodSandboxStatus", &runtimeapi.PodSandboxStatusRequest{PodSandboxId: s.GetId(), Verbose: true})
	}
	for _, c := range containers.GetContainers() {
		add(c.GetId(), c, "ContainerStatus", &runtimeapi.ContainerStatusRequest{ContainerId: c.GetId(), Verbose: true})
	}
	for i, err := range cri.ReadEach(ctx, len(changed), func(ctx context.Context, i int) error {
		if r.ask(ctx, changed[i].name, changed[i].request) == nil {
			return errNoAnswer
		}
		return nil
	}) {
		if err != nil {
			delete(listed, changed[i].id) // it is asked again
		}
	}
	if ctx.Err() != nil || r.err != nil {
		return errors.Join(ctx.Err(), r.err)
	}
	if sandboxes != nil && containers != nil { // else all are asked again
		r.listed = listed
	}
	at := r.Now()
	for i := range r.round {
		if err := r.Writer.addCall(r.round[i], at); err != nil {
			return err
		}
	}
	r.round = nil
	return nil
}

// errNoAnswer: the call failed, or was not made.
var errNoAnswer = errors.New("no answer")

// ask calls the runtime, and returns its answer, nil if that is an error.
func (r *Recorder) ask(ctx context.Context, name string, request proto.Message) proto.Message {
	m, conn := methods()[name], r.Runtime
	if slices.Contains([]string{"ListImages", "ImageFsInfo"}, name) {
		conn = r.Image
	}
	c := Call{Method: m.full}
	c.Request, _ = canonical(request) // it is one of this package
	answer := m.out.New().Interface()
	began := r.Now()
	err := conn.Invoke(ctx, m.full, request, answer)
	c.Took = r.Now().Sub(began)
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		c.Status, answer = status.Convert(err), nil
	default:
		c.Response, _ = canonical(answer) // it was decoded
	}
	p, err := r.Writer.prepare(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if p != nil {
		r.round = append(r.round, *p)
	}
	r.err = errors.Join(r.err, err)
	return answer
}
