package handler_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/handler"
)

type execFunc func(ctx context.Context, id string, command []string, timeout time.Duration) ([]byte, int32, error)

func (f execFunc) Exec(ctx context.Context, id string, command []string, timeout time.Duration) ([]byte, int32, error) {
	return f(ctx, id, command, timeout)
}

func execHandler(command ...string) *v1.LifecycleHandler {
	return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: command}}
}

func TestExecHookHasNoTimeout(t *testing.T) {
	var id string
	var command []string
	timeout := time.Duration(-1)
	x := execFunc(func(_ context.Context, i string, c []string, d time.Duration) ([]byte, int32, error) {
		id, command, timeout = i, c, d
		return []byte("out"), 0, nil
	})
	ran, err := handler.RunHook(t.Context(), x, handler.Target{ContainerID: "c1"}, execHandler("sh", "-c", "true"))
	if err != nil || string(ran.Output) != "out" {
		t.Errorf("Run = %q, %v; want out and no error", ran.Output, err)
	}
	if id != "c1" || timeout != 0 || !slices.Equal(command, []string{"sh", "-c", "true"}) {
		t.Errorf("exec of %q in %q with timeout %v", command, id, timeout)
	}
}

func TestExecHookNonzeroExit(t *testing.T) {
	x := execFunc(func(context.Context, string, []string, time.Duration) ([]byte, int32, error) {
		return []byte("oh"), 3, nil
	})
	ran, err := handler.RunHook(t.Context(), x, handler.Target{}, execHandler("false"))
	if err == nil || err.Error() != "command exited with 3" {
		t.Errorf("error %v; want one that names code 3", err)
	}
	if string(ran.Output) != "oh" {
		t.Errorf("output %q; want it also of a failure", ran.Output)
	}
}

func TestExecHookRuntimeError(t *testing.T) {
	gone := errors.New("gone")
	x := execFunc(func(context.Context, string, []string, time.Duration) ([]byte, int32, error) { return nil, 0, gone })
	if _, err := handler.RunHook(t.Context(), x, handler.Target{}, execHandler("true")); !errors.Is(err, gone) {
		t.Errorf("error %v; want the runtime's", err)
	}
}

func TestSleepHookCancel(t *testing.T) {
	h := &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 5}}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if _, err := handler.RunHook(t.Context(), nil, handler.Target{}, h); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("slept %v; want 5s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start = time.Now()
		if _, err := handler.RunHook(ctx, nil, handler.Target{}, h); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run with an ending context: %v; want its error", err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("slept %v; want 2s", took)
		}
	})
}

func TestTCPSocketHookFails(t *testing.T) {
	for want, h := range map[string]*v1.LifecycleHandler{
		"invalid handler: tcpSocket is for probes only": {TCPSocket: &v1.TCPSocketAction{}},
		"invalid handler: no action is set":             {},
	} {
		_, err := handler.RunHook(t.Context(), nil, handler.Target{}, h)
		if !errors.Is(err, handler.ErrInvalid) || err.Error() != want {
			t.Errorf("error %v; want %s", err, want)
		}
	}
}

func TestHTTPHookIgnoresStatus(t *testing.T) {
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	target, get := targetOf(t, server.URL, "/stop?now=1")
	get.HTTPHeaders = []v1.HTTPHeader{{Name: "Host", Value: "app.example"}, {Name: "X-A", Value: "1"}, {Name: "x-a", Value: "2"}}
	if _, err := handler.RunHook(t.Context(), nil, target, &v1.LifecycleHandler{HTTPGet: get}); err != nil {
		t.Fatalf("Run: %v; want any answer to do", err)
	}
	if got.Host != "app.example" || !slices.Equal(got.Header["X-A"], []string{"1", "2"}) || got.URL.String() != "/stop?now=1" ||
		got.UserAgent() != "kube-lifecycle/"+kubernetes(t) || got.Header.Get("Accept") != "*/*" {
		t.Errorf("request for %s of %s with %v", got.URL, got.Host, got.Header)
	}
}

func TestHTTPSHookFallsBackToHTTPWithoutAuthorization(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization")+"|"+r.Header.Get("X-A"))
	}))
	defer server.Close()
	target, get := targetOf(t, server.URL, "/")
	get.Scheme = v1.URISchemeHTTPS
	get.HTTPHeaders = []v1.HTTPHeader{{Name: "Authorization", Value: "secret"}, {Name: "X-A", Value: "1"}}
	ran, err := handler.RunHook(t.Context(), nil, target, &v1.LifecycleHandler{HTTPGet: get})
	if err != nil || ran.Fallback != strings.TrimPrefix(server.URL, "http://") {
		t.Errorf("Run = %+v, %v; want a fallback to the server", ran, err)
	}
	if !slices.Equal(asked, []string{"|1"}) {
		t.Errorf("asked with %q; want once, without Authorization", asked)
	}
}

func TestHTTPSHookDoesNotVerify(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	target, get := targetOf(t, server.URL, "/")
	if ran, err := handler.RunHook(t.Context(), nil, target, &v1.LifecycleHandler{HTTPGet: get}); err != nil || ran.Fallback != "" {
		t.Errorf("Run = %+v, %v; want no error and no fallback", ran, err)
	}
}

func TestHTTPHookFailsWithoutServerAddressOrPort(t *testing.T) {
	target, get := targetOf(t, deadURL(t), "/")
	for want, c := range map[string]struct {
		ip   string
		port string
	}{
		"connection refused":                  {"127.0.0.1", ""},
		"failed to find networking container": {"", ""},
		`port "nope" not found`:               {"127.0.0.1", "nope"},
	} {
		target, get := target, get.DeepCopy()
		target.PodIP = c.ip
		if c.port != "" {
			get.Port = named(c.port)
		}
		if _, err := handler.RunHook(t.Context(), nil, target, &v1.LifecycleHandler{HTTPGet: get}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %s", err, want)
		}
	}
}

func TestHTTPHookCancel(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	target, get := targetOf(t, server.URL, "/")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := handler.RunHook(ctx, nil, target, &v1.LifecycleHandler{HTTPGet: get}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want the context's", err)
	}
}
