package relay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/sim"
)

// recorder is an Observer that keeps a line for each event.
type recorder struct {
	mu    sync.Mutex
	lines []string
	took  []time.Duration
	bytes map[relay.Side][]relay.Message
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func method(c *relay.Call) string { return c.Method[strings.LastIndex(c.Method, "/")+1:] }

func (r *recorder) Began(c *relay.Call) { r.add("began %s", method(c)) }
func (r *recorder) Message(c *relay.Call, from relay.Side, m relay.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes == nil {
		r.bytes = map[relay.Side][]relay.Message{}
	}
	r.bytes[from] = append(r.bytes[from], m)
}
func (r *recorder) Ended(c *relay.Call) {
	r.add("ended %s %s %q %d %d", method(c), c.Code, c.Status, c.Requests, c.Responses)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took = append(r.took, c.End.Sub(c.Start))
}
func (r *recorder) Missed(m relay.Missed) { r.add("missed %s %v", m.Reason, m.HTTP2) }

func (r *recorder) wants(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.lines, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(r.lines, "\n  "), strings.Join(want, "\n  "))
	}
}

// world is a client of a simulated runtime, with a relay between them.
type world struct {
	*recorder
	sim   *sim.Runtime
	conn  *grpc.ClientConn
	cri   runtimeapi.RuntimeServiceClient
	relay *relay.Relay
}

// settle waits until all that has passed is read.
func settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// inWorld runs f in virtual time.
func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{recorder: &recorder{}, sim: sim.New(sim.Options{})}
		w.relay = relay.New(relay.Options{Dial: w.sim.Dial, Observer: w.recorder, CallerOf: relay.PeerOf, Now: time.Now})
		var err error
		w.conn, err = grpc.NewClient("passthrough:sim", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)),
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
				near, far := net.Pipe()
				w.relay.Go(func() { w.relay.Pass(far) })
				return near, nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		w.cri = runtimeapi.NewRuntimeServiceClient(w.conn)
		f(t, w)
		_ = w.conn.Close()
		w.relay.Close()
		w.sim.Close()
	})
}

func TestUnaryCallPassesAndIsSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Inject("method=Version delay=300ms")
		answer, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{Version: "v1"})
		if err != nil {
			t.Fatal(err)
		}
		settle()
		w.wants(t, "began Version", `ended Version OK "" 1 1`)
		if w.took[0] != 300*time.Millisecond {
			t.Errorf("took %s", w.took[0])
		}
		seen := &runtimeapi.VersionResponse{}
		if err := proto.Unmarshal(w.bytes[relay.FromRuntime][0].Data, seen); err != nil || !proto.Equal(seen, answer) {
			t.Errorf("seen %v, %v; answered %v", seen, err, answer)
		}
	})
}

func TestFlushReturnsOnceCallsAreObserved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
			t.Fatal(err)
		}
		w.relay.Flush(t.Context())
		w.wants(t, "began Version", `ended Version OK "" 1 1`)
	})
}

func TestFlushEndsWithItsContext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b := blockedObserver{w.recorder, make(chan struct{})}
		w.relay.Observe(b)
		if _, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if w.relay.Flush(ctx); time.Since(begin) != time.Second {
			t.Errorf("it returned after %s", time.Since(begin))
		}
		close(b.release)
	})
}

func TestErrorOfRuntimeIsSeenWithItsText(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Inject("method=Version nth=1 error=NotFound message=\"größer: 100 %\nno\"")
		_, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{})
		if status.Code(err) != codes.NotFound {
			t.Error(err)
		}
		settle()
		w.wants(t, "began Version", fmt.Sprintf("ended Version NotFound %q 1 0", status.Convert(err).Message()))
	})
}

func TestCancelAndDeadlineReachTheRuntime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Inject("method=Version hang")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := w.cri.Version(ctx, &runtimeapi.VersionRequest{}); status.Code(err) != codes.Canceled {
			t.Error(err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := w.cri.Version(ctx, &runtimeapi.VersionRequest{}); status.Code(err) != codes.DeadlineExceeded {
			t.Error(err)
		}
		settle()
		if len(w.lines) != 4 || w.lines[1] != `ended Version Canceled "by the caller" 1 0` || !strings.HasPrefix(w.lines[3], "ended Version DeadlineExceeded") {
			t.Errorf("%q", w.lines)
		}
	})
}

func TestEventsPassWithoutDelay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		events, err := w.cri.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		settle()
		config := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "u"}}
		begin := time.Now()
		if _, err := w.cri.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config}); err != nil {
			t.Fatal(err)
		}
		if _, err := events.Recv(); err != nil || time.Since(begin) != 0 {
			t.Errorf("error %v after %s", err, time.Since(begin))
		}
		cancel()
		for err = nil; err == nil; { // events that came before
			_, err = events.Recv()
		}
		if status.Code(err) != codes.Canceled {
			t.Error(err)
		}
		settle()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.lines) != 4 || !strings.HasPrefix(w.lines[3], `ended GetContainerEvents Canceled "by the caller" 1 `) {
			t.Errorf("%q", w.lines)
		}
	})
}

// The runtime of the simulation refuses messages of more than 16 MiB: it has to be asked.
func TestLargeMessagesPass(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, size := range []int{1 << 20, 16<<20 - 1<<10, 17 << 20} {
			_, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{Version: strings.Repeat("v", size)})
			want := codes.OK
			if size > 16<<20 {
				want = codes.ResourceExhausted
			}
			if status.Code(err) != want {
				t.Errorf("%d: %v", size, err)
			}
		}
		settle()
		kept := 0
		for _, m := range w.bytes[relay.FromCaller] {
			if len(m.Data) == m.Size {
				kept++
			}
		}
		if kept != 2 {
			t.Errorf("%d kept", kept)
		}
		if used := w.relay.Queued(); used != 0 {
			t.Errorf("%d bytes are still queued", used)
		}
	})
}

func TestUnknownMethodPasses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		err := w.conn.Invoke(t.Context(), "/runtime.v9.RuntimeService/Fly", &runtimeapi.VersionRequest{}, &runtimeapi.VersionResponse{})
		if status.Code(err) != codes.Unimplemented {
			t.Error(err)
		}
		settle()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.lines) != 2 || !strings.HasPrefix(w.lines[1], "ended Fly Unimplemented") {
			t.Errorf("%q", w.lines)
		}
	})
}

func TestManyConcurrentCallsAreAllSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				for range 20 {
					if _, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		calls.Wait()
		settle()
		if len(w.took) != 1000 {
			t.Errorf("%d calls seen", len(w.took))
		}
	})
}

func TestCallsInFlightEndWithTheConnection(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Inject("method=Version hang")
		time.AfterFunc(time.Second, w.sim.Crash)
		if _, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{}); status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
		settle()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.lines) < 2 || !strings.HasPrefix(w.lines[1], `ended Version Unavailable "the connection was closed" 1 0`) {
			t.Errorf("%q", w.lines)
		}
	})
}

// echo is a peer that answers each byte, and half-closes once its input ends.
func echo(c net.Conn) {
	_, _ = io.Copy(c, c)
	_ = c.(relay.Duplex).CloseWrite()
}

// socketPair returns the two ends of a unix connection.
func socketPair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", "@"+t.Name()+fmt.Sprint(time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if near, err = net.Dial("unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

func TestWhatIsNotHTTP2PassesAndIsMissed(t *testing.T) {
	for name, sent := range map[string]string{
		"http 1":  "GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"garbage": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x05\x04\x00\x00\x00\x00\x00garbage" + strings.Repeat("\xff", 1<<16),
		"empty":   "",
	} {
		t.Run(name, func(t *testing.T) {
			near, far := socketPair(t)
			there, server := socketPair(t)
			seen := &recorder{}
			r := relay.New(relay.Options{Dial: func(context.Context) (net.Conn, error) { return there, nil }, Observer: seen, CallerOf: relay.PeerOf, Now: time.Now})
			go echo(server)
			go func() {
				_, _ = io.WriteString(near, sent)
				_ = near.(relay.Duplex).CloseWrite()
			}()
			passed := make(chan struct{})
			go func() {
				r.Pass(far)
				close(passed)
			}()
			got, err := io.ReadAll(near) // the half-closed connection still answers
			if err != nil || string(got) != sent {
				t.Errorf("%d of %d bytes, %v", len(got), len(sent), err)
			}
			<-passed
			if name == "empty" {
				seen.wants(t)
			} else if len(seen.lines) != 1 || !strings.HasPrefix(seen.lines[0], "missed ") {
				t.Errorf("%q", seen.lines)
			}
		})
	}
}

// blockedObserver is an Observer that never returns until it is released.
type blockedObserver struct {
	*recorder
	release chan struct{}
}

func (b blockedObserver) Began(*relay.Call) { <-b.release }

func TestCallsPassWhileTheObserverIsBlocked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b := blockedObserver{w.recorder, make(chan struct{})}
		w.relay.Observe(b)
		text := strings.Repeat("v", 8<<20)
		for range 20 { // 160 MiB, more than is queued
			if _, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{Version: text}); err != nil {
				t.Fatal(err)
			}
		}
		close(b.release)
		settle()
		w.mu.Lock()
		missed := slices.ContainsFunc(w.lines, func(l string) bool {
			return l == "missed they came faster than they could be read true"
		})
		w.mu.Unlock()
		if !missed {
			t.Errorf("%q", w.lines)
		}
		if used := w.relay.Queued(); used != 0 {
			t.Errorf("%d bytes are still queued", used)
		}
	})
}

// panickingObserver is an Observer that panics.
type panickingObserver struct{ *recorder }

func (f panickingObserver) Began(*relay.Call) { panic("index out of range") }

func TestCallsPassAfterAFaultOfTheObserver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.relay.Observe(panickingObserver{w.recorder})
		for range 3 {
			if _, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		settle()
		w.wants(t, "missed a fault of podctl: index out of range true")
		if used := w.relay.Queued(); used != 0 {
			t.Errorf("%d bytes are still queued", used)
		}
	})
}

// flakyListener is a listener that fails to accept first.
type flakyListener struct {
	net.Listener
	failures int
}

func (l *flakyListener) Accept() (net.Conn, error) {
	if l.failures--; l.failures >= 0 {
		return nil, errors.New("too many open files")
	}
	return l.Listener.Accept()
}

func TestServeGoesOnAfterAFailedAccept(t *testing.T) {
	l, err := net.Listen("unix", "@"+t.Name()+fmt.Sprint(time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	there, server := socketPair(t)
	go echo(server)
	r := relay.New(relay.Options{Dial: func(context.Context) (net.Conn, error) { return there, nil }, Observer: &recorder{}, CallerOf: relay.PeerOf, Now: time.Now})
	served := make(chan struct{})
	go func() {
		r.Serve(&flakyListener{l, 2})
		close(served)
	}()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "x")
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	_, _ = conn.Close(), l.Close()
	<-served
	r.Close()
}

func TestRuntimeThatIsGoneIsReported(t *testing.T) {
	near, far := socketPair(t)
	seen := &recorder{}
	r := relay.New(relay.Options{Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("refused") }, Observer: seen, CallerOf: relay.PeerOf, Now: time.Now})
	r.Pass(far)
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	seen.wants(t, "missed connect to the runtime: refused false")
}
