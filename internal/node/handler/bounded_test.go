package handler_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/handler"
)

// limit is to how many bytes a text is cut.
const limit = 10 << 10

// answering is the URL of a server that answers each request with the text.
func answering(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = conn.Write([]byte(answer)) // the client may have read enough
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// talkative answers with an error of many bytes.
type talkative struct {
	healthpb.UnimplementedHealthServer
	bytes int
}

func (s talkative) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return nil, status.Error(codes.Internal, strings.Repeat("x", s.bytes))
}

// A container decides what a server answers and a command writes.
func TestOutputIsBounded(t *testing.T) {
	const large = 9 << 20
	for name, answer := range map[string]string{
		"status line":       strings.Repeat("\x01", large) + "\r\n\r\n",
		"short status line": strings.Repeat("\x01", 50<<10) + "\r\n\r\n",
		"location":          "HTTP/1.1 302 Found\r\nLocation: /" + strings.Repeat("x", large) + "\r\n\r\n",
		"short location":    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/" + strings.Repeat("x", 50<<10) + "\r\n\r\n",
		"redirected body":   "HTTP/1.1 302 Found\r\nLocation: http://localhost/\r\n\r\n" + strings.Repeat("x", large),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, get := targetOf(t, answering(t, answer), "/")
			_, output, err := handler.Probe(t.Context(), nil, target, probe(v1.ProbeHandler{HTTPGet: get}))
			if len(output) > limit || output == "" || err != nil {
				t.Errorf("a probe says %d bytes, %v", len(output), err)
			}
			_, err = handler.RunHook(t.Context(), nil, target, &v1.LifecycleHandler{HTTPGet: get})
			if err != nil && len(err.Error()) > limit {
				t.Errorf("a hook says %d bytes", len(err.Error()))
			}
		})
	}
	for _, n := range []int{large, 50 << 10} {
		t.Run(fmt.Sprintf("grpc: %d", n), func(t *testing.T) {
			t.Parallel()
			port := serve(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, talkative{bytes: n}) })
			result, output, err := handler.Probe(t.Context(), nil, handler.Target{PodIP: "127.0.0.1"}, probe(v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port}}))
			if len(output) > limit || result != handler.Failure || err != nil {
				t.Errorf("a probe says %v and %d bytes, %v", result, len(output), err)
			}
		})
	}
	t.Run("exec", func(t *testing.T) {
		cause := errors.New(strings.Repeat("x", large))
		x := execFunc(func(context.Context, string, []string, time.Duration) ([]byte, int32, error) {
			return []byte(strings.Repeat("y", 16<<20)), 1, cause
		})
		ran, err := handler.RunHook(t.Context(), x, handler.Target{}, execHandler("x"))
		if len(ran.Output) != limit || !errors.Is(err, cause) || len(err.Error()) != limit {
			t.Errorf("a hook says %d bytes and fails with %d", len(ran.Output), len(err.Error()))
		}
		if _, _, err = handler.Probe(t.Context(), x, handler.Target{}, probe(v1.ProbeHandler{Exec: &v1.ExecAction{}})); !errors.Is(err, cause) || len(err.Error()) != limit {
			t.Errorf("a probe fails with %d bytes", len(err.Error()))
		}
	})
}

// The text is handed over as a whole: a part of a secret is not recognized.
func TestMaskBeforeCut(t *testing.T) {
	x := execFunc(func(context.Context, string, []string, time.Duration) ([]byte, int32, error) {
		return []byte(strings.Repeat("y", 16<<20)), 1, nil
	})
	target := handler.Target{Brief: func(text string, n int) string { return fmt.Sprint(len(text), " to ", n) }}
	const want = "16777216 to 10240"
	if ran, _ := handler.RunHook(t.Context(), x, target, execHandler("x")); string(ran.Output) != want {
		t.Errorf("a hook says %.80q", ran.Output)
	}
	if _, output, _ := handler.Probe(t.Context(), x, target, probe(v1.ProbeHandler{Exec: &v1.ExecAction{}})); output != want {
		t.Errorf("a probe says %.80q", output)
	}
}
