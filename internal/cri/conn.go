package cri

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// maxMessage is the kubelet's and containerd's limit of one message.
const maxMessage = 16 << 20

// Observer is told about every call that ended. It is called from the caller's
// goroutine and must not block.
type Observer interface {
	// RuntimeOperation: method is the CRI's name, err an *Error or nil.
	RuntimeOperation(method string, took time.Duration, err error)
}

// conn stands between the generated clients and gRPC: deadlines, logs,
// observation and the translation of errors are here, once for all calls.
type conn struct {
	grpc.ClientConnInterface
	endpoint string
	dialer   *dialer
	timeout  time.Duration
	log      *slog.Logger
	observer Observer    // may be nil
	watcher  CallWatcher // may be nil
	now      func() time.Time
	// onLargeList is Options.OnLargeList; largeListOnce lets it be called once.
	onLargeList   func(error)
	largeListOnce sync.Once

	listModesMu sync.Mutex
	listModes   map[string]listMode // by method of the list
}

// Invoke makes a unary call.
func (c *conn) Invoke(ctx context.Context, fullMethod string, req, reply any, opts ...grpc.CallOption) error {
	method := path.Base(fullMethod)
	start := c.now()
	ctx, cancel := context.WithTimeout(ctx, deadline(method, req, c.timeout))
	defer cancel()
	allowed := c.timeout
	if end, ok := ctx.Deadline(); ok {
		allowed = end.Sub(start)
	}
	end := func(error) {}
	if c.watcher != nil {
		end = c.watcher.Begin(method, idOf(req))
	}
	err := c.ClientConnInterface.Invoke(ctx, fullMethod, req, reply, append(opts, grpc.MaxCallRecvMsgSize(maxMessage))...)
	err = c.done(ctx, method, objectOf(req), start, allowed, err)
	end(err)
	return err
}

// NewStream opens a stream; it lasts until ctx ends.
func (c *conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, fullMethod string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	method := path.Base(fullMethod)
	start := c.now()
	s, err := c.ClientConnInterface.NewStream(ctx, desc, fullMethod, append(opts, grpc.MaxCallRecvMsgSize(maxMessage))...)
	if err != nil {
		return nil, c.done(ctx, method, "", start, 0, err)
	}
	return &stream{ClientStream: s, conn: c, method: method, start: start}, nil
}

// done logs and observes a call that ended and translates its error.
func (c *conn) done(ctx context.Context, method, object string, start time.Time, allowed time.Duration, err error) error {
	took := c.now().Sub(start)
	c.log.LogAttrs(ctx, slog.LevelDebug, "cri call", slog.String("method", method), slog.String("object", object),
		slog.Duration("took", took), slog.String("code", status.Code(err).String()))
	if err != nil {
		err = classify(failure{
			method: method, object: object, err: err, took: took, allowed: allowed,
			endpoint: c.endpoint, dial: c.dialer.last(),
		})
	}
	if c.observer != nil {
		c.observer.RuntimeOperation(method, took, err)
	}
	return err
}

// stream translates the errors of a stream. io.EOF, its regular end, stays.
type stream struct {
	grpc.ClientStream
	conn   *conn
	method string
	start  time.Time
}

func (s *stream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		_ = s.conn.done(s.Context(), s.method, "", s.start, 0, nil)
		return io.EOF
	}
	return s.conn.done(s.Context(), s.method, "", s.start, 0, err)
}

// dialer connects, and remembers why the last attempt failed: gRPC passes it
// on as text only.
type dialer struct {
	dial func(context.Context) (net.Conn, error)
	// peekTimeout is how long peek waits, 0 for the default.
	peekTimeout time.Duration

	mu  sync.Mutex
	err error
}

func (d *dialer) connect(ctx context.Context, _ string) (net.Conn, error) {
	c, err := d.dial(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	return c, err
}

func (d *dialer) last() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// objectOf names what a request is about, in errors and logs.
func objectOf(req any) string {
	switch r := req.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		m := r.GetConfig().GetMetadata()
		return m.GetNamespace() + "/" + m.GetName()
	case *runtimeapi.CreateContainerRequest:
		m := r.GetSandboxConfig().GetMetadata()
		return m.GetNamespace() + "/" + m.GetName() + "/" + r.GetConfig().GetMetadata().GetName()
	case interface{ GetContainerId() string }:
		return pod.ShortID(r.GetContainerId())
	case interface{ GetPodSandboxId() string }:
		return pod.ShortID(r.GetPodSandboxId())
	case interface{ GetImage() *runtimeapi.ImageSpec }:
		return r.GetImage().GetImage()
	}
	return ""
}

// CallWatcher is told of every unary call while it is in flight, which an
// Observer is not. Its methods must not block and are called from many
// goroutines.
type CallWatcher interface {
	// Begin: a call of the method begins, about the container or sandbox of
	// this id, "" where it is about none. The function that it returns is
	// called once, with the call's *Error or nil.
	Begin(method, id string) (end func(err error))
}

// idOf is the id of the container or sandbox that a request is about.
func idOf(req any) string {
	switch r := req.(type) {
	case interface{ GetContainerId() string }:
		return r.GetContainerId()
	case interface{ GetPodSandboxId() string }:
		return r.GetPodSandboxId()
	}
	return ""
}
