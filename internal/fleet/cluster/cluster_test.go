package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/testkit/clustertest"
)

func open(t *testing.T, o clustertest.Options) (*Client, *clustertest.Server) {
	t.Helper()
	s := clustertest.Start(o)
	t.Cleanup(s.Close)
	path := filepath.Join(t.TempDir(), "config")
	if err := s.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	c, err := Open(Options{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func podctlOn(node string, out, errw io.Writer) Exec {
	return Exec{Namespace: clustertest.Namespace, Pod: "inspector-" + node, Container: "podctl", Command: []string{"podctl", "pods", "a b;$(x)"}, Stdout: out, Stderr: errw}
}

func TestListPages(t *testing.T) {
	var nodes []clustertest.Node
	for i := range 1200 {
		nodes = append(nodes, clustertest.Node{Name: fmt.Sprintf("n%d", i), Labels: map[string]string{"even": fmt.Sprint(i%2 == 0)}})
	}
	c, s := open(t, clustertest.Options{Nodes: nodes})
	all, err := c.Nodes(t.Context(), "")
	even, err2 := c.Nodes(t.Context(), "even=true")
	pods, err3 := c.Inspectors(t.Context(), InspectorQuery{Namespace: clustertest.Namespace, Selector: "a=b", Container: "podctl"})
	one, err4 := c.Inspectors(t.Context(), InspectorQuery{Namespace: clustertest.Namespace, Node: "n7", Container: "podctl"})
	if err := errors.Join(err, err2, err3, err4); err != nil || len(all) != 1200 || len(even) != 600 || len(pods) != 1200 || len(one) != 1 || !one[0].Ready {
		t.Errorf("%d nodes, %d selected, %d pods, on n7 %v, %v", len(all), len(even), len(pods), one, err)
	}
	if n := len(s.Requests()); n != 3+2+3+1 {
		t.Errorf("%d requests: %v", n, s.Requests())
	}
}

func TestListRestartsExpiredPageAndIsBounded(t *testing.T) {
	gone := 0
	c, _ := open(t, clustertest.Options{Nodes: []clustertest.Node{{Name: "n1"}}, Refuse: func(w http.ResponseWriter, _ *http.Request) bool {
		if gone++; gone < 3 {
			w.WriteHeader(http.StatusGone)
		}
		return gone < 3
	}})
	if all, err := c.Nodes(t.Context(), ""); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	c, _ = open(t, clustertest.Options{Refuse: func(w http.ResponseWriter, _ *http.Request) bool {
		fmt.Fprint(w, `{"metadata":{"continue":"x"},"items":[`+strings.Repeat(`{"metadata":{"name":"n"}},`, 4999)+`{"metadata":{"name":"n"}}]}`)
		return true
	}})
	if _, err := c.Nodes(t.Context(), ""); err == nil {
		t.Error("an endless list is accepted")
	}
}

func TestInvalidNamesAreRefused(t *testing.T) {
	c, s := open(t, clustertest.Options{Refuse: func(w http.ResponseWriter, _ *http.Request) bool {
		fmt.Fprint(w, `{"items":[{"metadata":{"name":"../../secrets"},"spec":{"nodeName":"n1"}}]}`)
		return true
	}})
	if _, err := c.Nodes(t.Context(), ""); err == nil {
		t.Error("the node is accepted")
	}
	if _, err := c.Inspectors(t.Context(), InspectorQuery{Namespace: clustertest.Namespace}); err == nil {
		t.Error("the pod is accepted")
	}
	asked := len(s.Requests())
	if err := c.Exec(t.Context(), Exec{Namespace: clustertest.Namespace, Pod: "../../secrets"}); err == nil || len(s.Requests()) != asked {
		t.Errorf("%v, %v", err, s.Requests())
	}
}

func TestExecPassesStreamsAndExitCode(t *testing.T) {
	var ran *clustertest.Session
	c, _ := open(t, clustertest.Options{Nodes: []clustertest.Node{{Name: "n1", Run: func(s *clustertest.Session) int {
		ran = s
		in, _ := io.ReadAll(s.Stdin)
		fmt.Fprintf(s.Stdout, "got %s", in)
		fmt.Fprint(s.Stderr, "warning")
		return 7
	}}}})
	var out, errw bytes.Buffer
	e := podctlOn("n1", &out, &errw)
	e.Stdin = strings.NewReader(strings.Repeat("x", 100000))
	err := c.Exec(t.Context(), e)
	if exit, ok := errors.AsType[*stream.ExitError](err); !ok || exit.Code != 7 {
		t.Errorf("error %v, want exit code 7", err)
	}
	if out.String() != "got "+strings.Repeat("x", 100000) || errw.String() != "warning" {
		t.Errorf("%d bytes of stdout, stderr %q", out.Len(), errw.String())
	}
	if !slices.Equal(ran.Args, e.Command) || ran.Container != "podctl" {
		t.Errorf("ran %q in %s", ran.Args, ran.Container)
	}
}

func TestServerWithoutWebSocketIsAnErrorWithAHint(t *testing.T) {
	c, _ := open(t, clustertest.Options{NoWebSocket: true, Nodes: []clustertest.Node{{Name: "n1", Run: func(*clustertest.Session) int { return 0 }}}})
	err := c.Exec(t.Context(), podctlOn("n1", io.Discard, io.Discard))
	if err == nil || !strings.Contains(hint.Of(err), "Kubernetes 1.30") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

func TestTerminalSizesAreForwarded(t *testing.T) {
	c, _ := open(t, clustertest.Options{Nodes: []clustertest.Node{{Name: "n1", Run: func(s *clustertest.Session) int {
		fmt.Fprint(s.Stdout, <-s.Sizes)
		return 0
	}}}})
	var out bytes.Buffer
	e := podctlOn("n1", &out, nil)
	e.TTY, e.Sizes = true, stream.NewSizes()
	defer e.Sizes.Close()
	e.Sizes.Set(80, 24)
	if err := c.Exec(t.Context(), e); err != nil || out.String() != `{"Width":80,"Height":24}` {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// hostile are nodes whose answer is not a result.
func TestHostileNodeIsAnError(t *testing.T) {
	report := func(text string) func(*clustertest.Session) int {
		return func(s *clustertest.Session) int {
			s.Report = func(w io.Writer) { _, _ = io.WriteString(w, text) }
			return 0
		}
	}
	nodes := map[string]func(*clustertest.Session) int{
		"lost":      func(s *clustertest.Session) int { s.Lost = true; return 0 },
		"not-json":  report("\x1b[2J"),
		"no-status": report(`{}`),
		"zero":      report(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"0"}]}}`),
		"huge":      report(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"99999"}]}}`),
		"no-causes": report(`{"status":"Failure","reason":"NonZeroExitCode","details":{}}`),
		"endless": func(s *clustertest.Session) int {
			s.Report = func(w io.Writer) {
				for s.Context.Err() == nil {
					_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<15))
				}
			}
			return 0
		},
	}
	var all []clustertest.Node
	for name, run := range nodes {
		all = append(all, clustertest.Node{Name: name, Run: run})
	}
	c, _ := open(t, clustertest.Options{Nodes: all})
	for name := range nodes {
		err := c.Exec(t.Context(), podctlOn(name, io.Discard, io.Discard))
		if _, exited := errors.AsType[*stream.ExitError](err); err == nil || exited {
			t.Errorf("%s: %v", name, err)
		}
		if name == "lost" && !errors.Is(err, ErrLost) {
			t.Errorf("lost: %v", err)
		}
	}
}

func TestWriterErrorEndsExec(t *testing.T) {
	c, _ := open(t, clustertest.Options{Nodes: []clustertest.Node{{Name: "n1", Run: func(s *clustertest.Session) int {
		for s.Context.Err() == nil {
			if _, err := s.Stdout.Write(make([]byte, 1<<15)); err != nil {
				break
			}
		}
		return 0
	}}}})
	full := errors.New("full")
	err := c.Exec(t.Context(), podctlOn("n1", writerFunc(func([]byte) (int, error) { return 0, full }), io.Discard))
	if !errors.Is(err, full) {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The end of the context ends a command on a node that hangs, and a server that accepts
// connections and never answers.
func TestCancelEndsExec(t *testing.T) {
	started := make(chan bool, 1)
	hang := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "n2") || r.URL.Path == "/api/v1/nodes" {
			started <- true
			<-r.Context().Done()
			return true
		}
		return false
	}
	c, _ := open(t, clustertest.Options{Refuse: hang, Nodes: []clustertest.Node{{Name: "n1", Run: func(s *clustertest.Session) int {
		started <- true
		<-s.Context.Done()
		return 0
	}}}})
	stop := errors.New("stop")
	for name, do := range map[string]func(context.Context) error{
		"command":   func(ctx context.Context) error { return c.Exec(ctx, podctlOn("n1", io.Discard, io.Discard)) },
		"handshake": func(ctx context.Context) error { return c.Exec(ctx, podctlOn("n2", io.Discard, io.Discard)) },
		"list":      func(ctx context.Context) error { _, err := c.Nodes(ctx, ""); return err },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-started
			cancel(stop)
		}()
		if err := do(ctx); !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A redirect would carry the token to another server.
func TestRedirectsAreRefused(t *testing.T) {
	asked := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header.Get("Authorization") }))
	t.Cleanup(elsewhere.Close)
	c, _ := open(t, clustertest.Options{Nodes: []clustertest.Node{{Name: "n1"}}, Refuse: func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		return true
	}})
	if _, err := c.Nodes(t.Context(), ""); err == nil {
		t.Error("the list was redirected")
	}
	if err := c.Exec(t.Context(), podctlOn("n1", io.Discard, io.Discard)); err == nil {
		t.Error("the command was redirected")
	}
	select {
	case got := <-asked:
		t.Errorf("the other server was asked with %q", got)
	default:
	}
}

func TestForbiddenHintNamesPermission(t *testing.T) {
	c, _ := open(t, clustertest.Options{Refuse: func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"x\" is forbidden","reason":"Forbidden","code":403}`)
		return true
	}})
	err := c.Exec(t.Context(), podctlOn("n1", io.Discard, io.Discard))
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Hint() == "" || refused.Message != `pods "x" is forbidden` {
		t.Errorf("%v", err)
	}
	_, err = c.Nodes(t.Context(), "")
	if hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
}

// An old credential plugin that hangs does not keep the command from ending.
func TestHangingCredentialPluginIsCanceled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := withTimeout(ctx, func() (int, error) { select {} })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
