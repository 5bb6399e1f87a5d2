package stream

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

// forwarding serves port 80 of a simulated pod at a local address, until stop.
func forwarding(t *testing.T, r *sim.Runtime) (address string, failed <-chan error, stop func() error) {
	t.Helper()
	sandbox, _ := container(t, r, "sleep", "600")
	open, err := Listen(t.Context(), []string{"127.0.0.1"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 1000)
	f := &Forwarder{
		URL: func(ctx context.Context, port uint16) (string, error) {
			resp, err := r.PortForward(ctx, &runtimeapi.PortForwardRequest{PodSandboxId: sandbox, Port: []int32{int32(port)}})
			return resp.GetUrl(), err
		},
		Failed: func(_ *Listener, err error) { errs <- err },
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- f.Serve(ctx, []*Listener{{open[0], func(context.Context) (uint16, error) { return 80, nil }}})
	}()
	stop = sync.OnceValue(func() error { cancel(errStopped); return <-served })
	t.Cleanup(func() { _ = stop() })
	return open[0].Addr().String(), errs, stop
}

var errStopped = errors.New("stopped")

func echo(c io.ReadWriteCloser) { _, _ = io.Copy(c, c) }

func dialTest(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

// talk sends data, ends its half and returns what comes back.
func talk(t *testing.T, c *net.TCPConn, data []byte) []byte {
	go func() {
		_, _ = c.Write(data)
		_ = c.CloseWrite()
	}()
	back, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) { // a refused connection
		t.Error(err)
	}
	return back
}

func TestForwardConcurrentConnections(t *testing.T) {
	r := simulated(t)
	r.ServePort("web", 80, echo)
	address, failed, _ := forwarding(t, r)
	var talking sync.WaitGroup
	for range 60 {
		talking.Go(func() {
			data := make([]byte, 100<<10)
			_, _ = rand.Read(data) // never fails
			if back := talk(t, dialTest(t, address), data); !bytes.Equal(back, data) {
				t.Errorf("%d of %d bytes came back", len(back), len(data))
			}
		})
	}
	talking.Wait()
	if len(failed) > 0 {
		t.Errorf("%v", <-failed)
	}
}

// A client that does not read does not stop the others.
func TestSlowClientDoesNotBlockOthers(t *testing.T) {
	r := simulated(t)
	r.ServePort("web", 80, func(c io.ReadWriteCloser) {
		first := make([]byte, 1)
		if _, err := io.ReadFull(c, first); err != nil {
			return
		}
		if first[0] == 'w' {
			_, _ = c.Write(make([]byte, 64<<20)) // ends with the client
		}
		echo(c)
	})
	address, _, _ := forwarding(t, r)
	if _, err := dialTest(t, address).Write([]byte("w")); err != nil {
		t.Fatal(err)
	}
	if back := talk(t, dialTest(t, address), []byte("-hello")); string(back) != "hello" {
		t.Errorf("%q", back)
	}
}

func TestForwardContinuesAfterRefusal(t *testing.T) {
	r := simulated(t)
	address, failed, _ := forwarding(t, r)
	for range 2 {
		if back := talk(t, dialTest(t, address), []byte("hello")); len(back) > 0 {
			t.Errorf("%q", back)
		}
		err := <-failed
		if err == nil || !strings.HasPrefix(err.Error(), "port 80: ") || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%v", err)
		}
	}
	r.ServePort("web", 80, echo)
	if back := talk(t, dialTest(t, address), []byte("hello")); string(back) != "hello" {
		t.Errorf("%q", back)
	}
}

func TestServeClosesConnections(t *testing.T) {
	r := simulated(t)
	r.ServePort("web", 80, echo)
	address, failed, stop := forwarding(t, r)
	c := dialTest(t, address)
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := stop(); !errors.Is(err, errStopped) {
		t.Errorf("%v", err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes", n)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the listener is open")
	}
	if len(failed) > 0 {
		t.Errorf("reported: %v", <-failed)
	}
}

func TestListenSamePortEverywhere(t *testing.T) {
	open, err := Listen(t.Context(), []string{"localhost", "127.0.0.2"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ports := map[int]bool{}
	for _, l := range open {
		ports[l.Addr().(*net.TCPAddr).Port] = true
		_ = l.Close()
	}
	if len(ports) != 1 || len(open) < 2 {
		t.Errorf("%d listeners, ports %v", len(open), ports)
	}
	if _, err := Listen(t.Context(), []string{"192.0.2.1"}, 0); err == nil {
		t.Error("an address of another host is accepted")
	}
}
