package cri

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// immediately is how soon a stream without a single event must have ended for
// its runtime to have events switched off (CRI-O without enable_pod_events).
const immediately = time.Second

// Notices subscribes to the runtime's events and blocks until ctx or the stream
// ends; it never returns nil. opened is called once, as soon as the runtime has
// read the subscription, and before the first hint; each is called for every
// event, from one goroutine. It must not block: containerd stops its own work
// when a reader falls behind. The runtime replays what no reader received of the last
// minutes: such a hint has a time before the subscription.
//
// A runtime without events is ErrUnsupported, a stream that ended
// ErrUnavailable: subscribe again, and expect to have missed something.
func (c *Client) Notices(ctx context.Context, opened func(), each func(pod.Notice)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := c.now()
	stream, err := c.runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return err
	}
	type received struct {
		event *runtimeapi.ContainerEventResponse
		err   error
	}
	events := make(chan received)
	go func() {
		defer close(events)
		for {
			ev, err := stream.Recv()
			select {
			case events <- received{ev, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	// A server sends nothing when it accepts a stream. But it reads one
	// connection in order, so by its answer to a later call it has the
	// subscription.
	settled := make(chan error, 1)
	go func() {
		_, err := c.Version(ctx)
		settled <- err
	}()
	open := func() {
		if opened != nil {
			opened()
			opened = nil
		}
	}
	heard := false
	for {
		select {
		case err := <-settled:
			if err == nil {
				open()
			}
		case r, ok := <-events:
			if !ok {
				return ctx.Err()
			}
			if r.err != nil {
				return streamEnd(r.err, heard || c.now().Sub(start) >= immediately)
			}
			open()
			heard = true
			each(toNotice(r.event, c.own != nil))
		}
	}
}

// streamEnd says what the end of the event stream means.
func streamEnd(err error, lasted bool) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	e := answerError("GetContainerEvents", "", "the runtime ended the stream")
	e.kinds = []error{ErrUnavailable}
	if !lasted {
		e.text += " at once: its events are disabled"
		e.kinds = []error{ErrUnsupported}
		e.hint = "CRI-O: set enable_pod_events = true in crio.conf"
	}
	return e
}

// hinted is the state that an event tells of; none for a deletion, and for types
// that the CRI does not define.
var hinted = map[runtimeapi.ContainerEventType]pod.State{
	runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT: pod.Created,
	runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT: pod.Running,
	runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT: pod.Exited,
}

// toNotice keeps of an event what podctl believes. Each pod that podctl did not create
// is separate for a node: see grouping.
func toNotice(ev *runtimeapi.ContainerEventResponse, ofNode bool) pod.Notice {
	h := pod.Notice{
		ID:      ev.ContainerId,
		Created: toTime(ev.CreatedAt),
		Deleted: ev.ContainerEventType == runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT,
		State:   hinted[ev.ContainerEventType],
	}
	// Of a pod that is being removed there is no sandbox status any more.
	if s := ev.PodSandboxStatus; s != nil {
		id := sandboxIdentity(s)
		if ofNode && creator(s) == "" {
			id = id.separate()
		}
		h.PodUID = id.uid
	}
	for _, cs := range ev.ContainersStatuses {
		if h.PodUID == "" && cs.Id == ev.ContainerId {
			h.PodUID = types.UID(cs.Labels[pod.UIDLabel])
		}
	}
	return h
}
