package cri

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

func hintOf(err error) string {
	var h interface{ Hint() string }
	if !errors.As(err, &h) {
		return ""
	}
	return h.Hint()
}

// connectTo waits for an answer as long as a busy machine may take for one.
func connectTo(t *testing.T, path string) error {
	t.Helper()
	const patience = time.Minute
	c, err := Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: path, Timeout: patience}, peekTimeout: patience})
	if err == nil {
		c.Close()
	}
	return err
}

func TestConnectReachesARuntimeBySocket(t *testing.T) {
	_, path := simSocket(t)
	if err := connectTo(t, path); err != nil {
		t.Error(err)
	}
}

// TestConnectSaysWhatIsWrong with an endpoint, and what to do.
func TestConnectSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve func(t *testing.T) string // answers the socket's path
		is    []error
		text  string // after "connect to unix://PATH: "; PATH is replaced
		hint  string
	}{
		{"no socket", tempSocket,
			[]error{ErrUnavailable}, "no socket at PATH", "--runtime-endpoint"},
		{"no process listens", func(t *testing.T) string {
			l, path := listen(t)
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			l.Close()
			return path
		}, []error{ErrUnavailable}, "no process listens at PATH", "systemctl start containerd"},
		{"not a socket", func(t *testing.T) string {
			path := tempSocket(t)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, []error{ErrUnavailable}, "PATH is not a socket", "name the runtime's socket"},
		{"HTTP server", func(t *testing.T) string {
			l, path := listen(t)
			go func() { _ = http.Serve(l, http.NotFoundHandler()) }()
			return path
		}, []error{ErrNotCRI}, "an HTTP server listens there, not a CRI runtime", "not a CRI runtime"},
		{"closes the connection", func(t *testing.T) string {
			return serveConns(t, func(c net.Conn) { c.Close() })
		}, []error{ErrNotCRI}, "the server closes the connection", "not a CRI runtime"},
		{"speaks something else", func(t *testing.T) string {
			return serveConns(t, func(c net.Conn) { _, _ = io.WriteString(c, "220 mail.example.org ESMTP\r\n") })
		}, []error{ErrNotCRI}, "the server does not speak gRPC", "not a CRI runtime"},
		{"gRPC without CRI", func(t *testing.T) string {
			return serveGRPC(t, grpc.NewServer())
		}, []error{ErrNotCRI, ErrUnsupported, errors.ErrUnsupported},
			"the server does not implement CRI v1: unknown service runtime.v1.RuntimeService", "disabled_plugins"},
		{"CRI v1alpha2 only", func(t *testing.T) string {
			return serveGRPC(t, oldServer())
		}, []error{ErrNotCRI}, "containerd 1.5.9 speaks CRI v1alpha2 only", "containerd 1.6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.serve(t)
			err := connectTo(t, path)
			if err == nil {
				t.Fatal("connected")
			}
			for _, is := range c.is {
				if !errors.Is(err, is) {
					t.Errorf("%v is not %v", err, is)
				}
			}
			want := "connect to unix://" + path + ": " + strings.ReplaceAll(c.text, "PATH", path)
			if err.Error() != want {
				t.Errorf("message %q\nwant    %q", err, want)
			}
			if hint := hintOf(err); !strings.Contains(hint, c.hint) {
				t.Errorf("hint %q, want something about %q", hint, c.hint)
			}
		})
	}
}

// TestConnectToDockerNamesCriDockerd: the most frequent wrong socket.
func TestConnectToDockerNamesCriDockerd(t *testing.T) {
	path := strings.TrimSuffix(tempSocket(t), "s.sock") + "docker.sock"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { _ = http.Serve(l, http.NotFoundHandler()) }()
	err = connectTo(t, path)
	if !errors.Is(err, ErrNotCRI) || !strings.Contains(hintOf(err), "cri-dockerd") {
		t.Errorf("%v, hint %q", err, hintOf(err))
	}
}

// TestConnectWithoutPermission: root may open every socket, so the refusal is
// given by Dial.
func TestConnectWithoutPermission(t *testing.T) {
	_, err := Connect(t.Context(), Options{
		Endpoint: Endpoint{Runtime: "/run/x.sock"},
		Dial: func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
		},
	})
	if !errors.Is(err, ErrPermission) || !errors.Is(err, ErrUnavailable) || !errors.Is(err, os.ErrPermission) {
		t.Fatalf("%v", err)
	}
	if err.Error() != "connect to unix:///run/x.sock: permission denied on /run/x.sock" || !strings.Contains(hintOf(err), "root") {
		t.Errorf("%v, hint %q", err, hintOf(err))
	}
}

// A server that accepts connections and does not answer may be a runtime that is
// stopped or hangs: it is not called something else.
func TestConnectToAServerThatDoesNotAnswerIsHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(1 << 10)
		_, err := Connect(t.Context(), Options{
			Endpoint: Endpoint{Runtime: "/run/x.sock"},
			Dial: func(ctx context.Context) (net.Conn, error) {
				go func() { _, _ = l.Accept() }() // and never a word
				return l.DialContext(ctx)
			},
		})
		if !errors.Is(err, ErrHung) || !errors.Is(err, ErrDeadline) || errors.Is(err, ErrNotCRI) || err.Error() != "connect to unix:///run/x.sock: the server accepts connections and does not answer" {
			t.Errorf("mute server: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := sim.New(sim.Options{})
		defer r.Close()
		defer r.Inject("method=Version hang")()
		_, err := Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: SimEndpoint}, Dial: r.Dial})
		if !errors.Is(err, ErrHung) || !errors.Is(err, ErrDeadline) || errors.Is(err, ErrNotCRI) || err.Error() != "connect to sim:: no answer within 10s" {
			t.Errorf("hanging runtime: %v", err)
		}
	})
}

// TestConnectChecksTheImageEndpointToo, where it is another one.
func TestConnectChecksTheImageEndpointToo(t *testing.T) {
	_, runtime := simSocket(t)
	images, image := simSocket(t)
	c, err := Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: runtime, Image: image}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ImageStatus(t.Context(), "busybox"); err != nil {
		t.Error(err)
	}
	c.Close()
	if n := len(images.Calls("ImageStatus")); n != 1 {
		t.Errorf("the image endpoint got %d calls, want 1", n)
	}
	none := tempSocket(t)
	_, err = Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: runtime, Image: none}})
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), none) {
		t.Errorf("without an image socket: %v", err)
	}
}

// TestRuntimeGoesAwayAndComesBack: calls fail at once, then work again within
// three seconds.
func TestRuntimeGoesAwayAndComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		_, id := runPod(t, c, "p", "sleep", "36000")
		r.Crash()
		for range 20 {
			start := time.Now()
			_, err := c.ContainerStatus(t.Context(), id)
			if !errors.Is(err, ErrUnavailable) || time.Since(start) > 0 {
				t.Fatalf("while it is away: %v after %s", err, time.Since(start))
			}
			time.Sleep(time.Second)
		}
		r.Restart()
		time.Sleep(3*time.Second + 600*time.Millisecond) // with gRPC's jitter of 20 %
		if _, err := c.ContainerStatus(t.Context(), id); err != nil {
			t.Errorf("after its return: %v", err)
		}
	})
}

func serveConns(t *testing.T, f func(net.Conn)) string {
	l, path := listen(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f(c)
		}
	}()
	return path
}

func serveGRPC(t *testing.T, s *grpc.Server) string {
	l, path := listen(t)
	t.Cleanup(s.Stop)
	go func() { _ = s.Serve(l) }()
	return path
}

// oldServer knows Version of CRI v1alpha2 alone.
func oldServer() *grpc.Server {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "runtime.v1alpha2.RuntimeService",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Version", Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			return &runtimeapi.VersionResponse{RuntimeName: "containerd", RuntimeVersion: "1.5.9"}, dec(&runtimeapi.VersionRequest{})
		}}},
	}, struct{}{})
	return s
}

// CRI-O resets connections whose first call has another content type, so that a
// client would stay disconnected whose first call after a restart is a list.
func TestEveryCallHasThePlainContentType(t *testing.T) {
	var mu sync.Mutex
	types := map[string][]string{}
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		header, _ := metadata.FromIncomingContext(ctx)
		mu.Lock()
		types[path.Base(info.FullMethod)] = header.Get("content-type")
		mu.Unlock()
		return handle(ctx, req)
	}))
	runtime := sim.New(sim.Options{})
	defer runtime.Close()
	runtimeapi.RegisterRuntimeServiceServer(s, runtime)
	c, err := Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: serveGRPC(t, s)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ListPods(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, method := range []string{"Version", "ListPodSandbox", "ListContainers"} {
		if got := types[method]; !slices.Equal(got, []string{"application/grpc"}) {
			t.Errorf("%s: content type %q", method, got)
		}
	}
}
