package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
)

// Options are what New needs.
type Options struct {
	// Dial connects to the runtime, once for each connection of a caller.
	Dial     func(context.Context) (net.Conn, error)
	Observer Observer
	// CallerOf identifies the other end of a connection.
	CallerOf func(net.Conn) Caller
	Now      func() time.Time
}

// Relay passes connections on to a runtime. It is safe for concurrent use.
type Relay struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	ids     atomic.Uint64
	budget  budget
	conns   sync.WaitGroup

	mu sync.Mutex
	// open are the connections that have not been observed to their end, with what holds
	// their copies.
	open map[*callerConn]*queue
}

// New returns a relay that serves nothing yet.
func New(o Options) *Relay {
	r := &Relay{options: o, open: map[*callerConn]*queue{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// acceptRetry is how long Serve waits after a connection that could not be accepted.
const acceptRetry = 50 * time.Millisecond

// Serve passes on the connections of a listener until it is closed. A connection that
// cannot be accepted waits: descriptors may be rare for a moment.
func (r *Relay) Serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(acceptRetry)
		default:
			r.conns.Go(func() { r.Pass(conn) })
		}
	}
}

// Close closes all connections, and returns when their calls have been observed.
func (r *Relay) Close() {
	r.cancel()
	r.conns.Wait()
}

// Flush returns when all that has passed until now has been observed, or ctx ends.
func (r *Relay) Flush(ctx context.Context) {
	r.mu.Lock()
	queues := slices.Collect(maps.Values(r.open))
	r.mu.Unlock()
	for _, q := range queues {
		for !q.isObserved() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(readPause):
			}
		}
	}
}

// GoAway asks the callers of all connections to make their next calls on new ones. A
// connection closes once its calls have ended.
func (r *Relay) GoAway() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for end := range r.open {
		go end.goAway() // which waits for a caller that reads nothing
	}
}

// Connections returns the number of connections that are open.
func (r *Relay) Connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}

// duplex is a connection whose directions end one by one.
type duplex interface {
	net.Conn
	CloseWrite() error
}

// Pass passes one connection on until it ends, and closes it.
func (r *Relay) Pass(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	who := r.options.CallerOf(conn)
	runtime, err := r.options.Dial(r.ctx)
	if err != nil {
		if r.ctx.Err() == nil {
			r.options.Observer.Missed(Missed{Caller: who, Reason: fmt.Sprintf("connect to the runtime: %v", err)})
		}
		return
	}
	defer func() { _ = runtime.Close() }()
	stop := context.AfterFunc(r.ctx, func() { _, _ = conn.Close(), runtime.Close() })
	defer stop()
	q, end := newQueue(&r.budget), &callerConn{Conn: conn}
	r.mu.Lock()
	r.open[end] = q
	r.mu.Unlock()
	var decoding, passing sync.WaitGroup
	decoding.Go(func() {
		lowerPriority()
		r.decode(who, q)
	})
	for _, way := range []struct {
		from     Side
		src, dst net.Conn
	}{{FromCaller, conn, runtime}, {FromRuntime, runtime, end}} {
		passing.Go(func() { r.copy(way.from, way.src, way.dst, q) })
	}
	passing.Wait()
	q.close()
	decoding.Wait()
	r.mu.Lock()
	delete(r.open, end)
	r.mu.Unlock()
}

// copyBuffer is how many bytes are passed on at once.
const copyBuffer = 64 << 10

// copy passes one direction on until it ends, and ends it at the other side. An error ends
// both directions.
func (r *Relay) copy(from Side, src, dst net.Conn, q *queue) {
	buffer := make([]byte, copyBuffer)
	for {
		n, err := src.Read(buffer)
		if n > 0 {
			// Before the bytes are passed on, so that an answer is not queued before its call.
			q.add(from, buffer[:n], r.options.Now())
			if _, err := dst.Write(buffer[:n]); err != nil {
				_, _ = src.Close(), dst.Close()
				return
			}
		}
		if errors.Is(err, io.EOF) {
			if d, ok := dst.(duplex); ok && d.CloseWrite() == nil {
				return
			}
		}
		if err != nil {
			_, _ = src.Close(), dst.Close()
			return
		}
	}
}

// decode reads the queue until it ends. A panic in a decoder or an Observer, which read
// what anybody sends, ends what is seen of the connection, and not the connection.
func (r *Relay) decode(who Caller, q *queue) {
	waiting := 0 // bytes that were taken from the queue
	defer func() {
		if fault := recover(); fault != nil {
			q.drop()
			r.budget.release(waiting)
			r.options.Observer.Missed(Missed{Caller: who, Reason: fmt.Sprintf("a fault of podctl: %v", fault), HTTP2: true})
		}
	}()
	d := newDecoder(who, r.options.Observer, func() uint64 { return r.ids.Add(1) })
	for {
		chunks, lost, ok := q.next()
		if !ok {
			d.close(codes.Unavailable, "the connection was closed", r.options.Now())
			q.drop()
			return
		}
		for _, c := range chunks {
			waiting += len(c.data)
		}
		var err error
		for _, c := range chunks {
			if err == nil {
				err = d.add(c.from, c.data, c.at)
			}
			waiting -= len(c.data)
			r.budget.release(len(c.data))
		}
		if err == nil && lost {
			err = errors.New("they came faster than they could be read")
		}
		if err != nil {
			q.drop()
			r.options.Observer.Missed(Missed{Caller: who, Reason: err.Error(), HTTP2: d.isHTTP2()})
			d.close(codes.Unknown, "the end of the call was not seen", r.options.Now())
			return
		}
	}
}
