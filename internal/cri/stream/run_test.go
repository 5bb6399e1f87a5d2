package stream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

// container runs a container in a simulated runtime and returns its sandbox and id.
func container(t *testing.T, r *sim.Runtime, argv ...string) (sandbox, id string) {
	t.Helper()
	ctx := t.Context()
	config := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "u"}}
	s, err := r.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	image := &runtimeapi.ImageSpec{Image: "busybox"}
	if _, err := r.PullImage(ctx, &runtimeapi.PullImageRequest{Image: image}); err != nil {
		t.Fatal(err)
	}
	c, err := r.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: s.PodSandboxId, SandboxConfig: config,
		Config: &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "c"}, Image: image, Command: argv, Stdin: true, StdinOnce: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId}); err != nil {
		t.Fatal(err)
	}
	return s.PodSandboxId, c.ContainerId
}

func simulated(t *testing.T) *sim.Runtime {
	r := sim.New(sim.Options{})
	t.Cleanup(r.Close)
	return r
}

// execURL prepares a command.
func execURL(t *testing.T, r *sim.Runtime, id string, stdin bool, argv ...string) string {
	t.Helper()
	resp, err := r.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: id, Cmd: argv, Stdin: stdin, Stdout: true, Stderr: true})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Url
}

func TestRunReturnsOutputAndExitCode(t *testing.T) {
	r := simulated(t)
	_, id := container(t, r, "sleep", "600")
	var out, errw bytes.Buffer
	err := Run(t.Context(), Session{URL: execURL(t, r, id, false, "sh", "-c", "echo out; echo err >&2; exit 7"), Stdout: &out, Stderr: &errw})
	exit, ok := errors.AsType[*ExitError](err)
	if !ok || exit.Code != 7 || out.String() != "out\n" || errw.String() != "err\n" {
		t.Errorf("%v, stdout %q, stderr %q", err, out.String(), errw.String())
	}
	if err := Run(t.Context(), Session{URL: execURL(t, r, id, false, "true"), Stdout: &out, Stderr: &errw}); err != nil {
		t.Errorf("true: %v", err)
	}
}

// All of the output has arrived when Run returns.
func TestRunReturnsAllOutput(t *testing.T) {
	r := simulated(t)
	_, id := container(t, r, "sleep", "600")
	for range 200 {
		var out, errw bytes.Buffer
		err := Run(t.Context(), Session{URL: execURL(t, r, id, false, "sh", "-c", "echo out; echo err >&2"), Stdout: &out, Stderr: &errw})
		if err != nil || out.String() != "out\n" || errw.String() != "err\n" {
			t.Fatalf("%v, stdout %q, stderr %q", err, out.String(), errw.String())
		}
	}
}

func TestInputAndOutputAreBinary(t *testing.T) {
	r := simulated(t)
	_, id := container(t, r, "sleep", "600")
	in := make([]byte, 8<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(in) // never fails
	out := sha256.New()
	err := Run(t.Context(), Session{URL: execURL(t, r, id, true, "cat"), Stdin: bytes.NewReader(in), Stdout: out, Stderr: io.Discard})
	if want := sha256.Sum256(in); err != nil || !bytes.Equal(out.Sum(nil), want[:]) {
		t.Errorf("%v, output differs: %t", err, !bytes.Equal(out.Sum(nil), want[:]))
	}
}

func TestURLIsUsedOnce(t *testing.T) {
	r := simulated(t)
	_, id := container(t, r, "sleep", "600")
	s := Session{URL: execURL(t, r, id, false, "true"), Stdout: io.Discard, Stderr: io.Discard}
	if err := Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("second use: %v", err)
	}
}

// What is typed arrives at the container's shell, and at one that is executed.
func TestRunTypesIntoShells(t *testing.T) {
	r := simulated(t)
	_, id := container(t, r, "sh")
	var out bytes.Buffer
	if err := Run(t.Context(), Session{URL: execURL(t, r, id, true, "sh"), Stdin: strings.NewReader("if true\nthen echo a; fi\ncat\nb"), Stdout: &out, Stderr: &out}); err != nil || out.String() != "a\nb" {
		t.Errorf("exec: %v, %q", err, out.String())
	}
	terminal, err := r.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: id, Cmd: []string{"sh"}, Stdin: true, Stdout: true, Tty: true})
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	err = Run(t.Context(), Session{URL: terminal.Url, TTY: true, Stdin: strings.NewReader("echoo\x7f a\rexit 4\r"), Stdout: &out})
	if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Code != 4 || !strings.Contains(out.String(), "/ # ") || !strings.Contains(out.String(), "\r\na\r\n") {
		t.Errorf("exec with a terminal: %v, %q", err, out.String())
	}
	attach, err := r.Attach(t.Context(), &runtimeapi.AttachRequest{ContainerId: id, Stdin: true, Stdout: true})
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := Run(t.Context(), Session{URL: attach.Url, Stdin: strings.NewReader("echo typed\n"), Stdout: &out}); err != nil || out.String() != "typed\n" {
		t.Errorf("attach: %v, %q", err, out.String())
	}
}

// A writer that fails ends the session, whatever the command goes on writing.
func TestRunEndsWhenItsOutputFails(t *testing.T) {
	r := simulated(t)
	_, id := container(t, r, "sh", "-c", "while true; do echo more; sleep 0.01; done")
	resp, err := r.Attach(t.Context(), &runtimeapi.AttachRequest{ContainerId: id, Stdout: true})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken pipe")
	if err := Run(t.Context(), Session{URL: resp.Url, Stdout: failing{broken}}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestRunReturnsCancelCause(t *testing.T) {
	r := simulated(t)
	_, id := container(t, r, "sleep", "600")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
	in, _ := io.Pipe()
	err := Run(ctx, Session{URL: execURL(t, r, id, true, "cat"), Stdin: in, Stdout: io.Discard, Stderr: io.Discard})
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// serve makes a streaming server that is not one.
func serve(t *testing.T, handle func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			serving.Go(func() { defer conn.Close(); handle(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return fmt.Sprintf("http://%s/exec/x", l.Addr())
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"

func readRequest(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }

// A hostile or odd server ends Run with an error, at once or when its context
// ends.
func TestRunWithOddServers(t *testing.T) {
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for name, c := range map[string]struct {
		handle func(net.Conn)
		want   string // "" is the end of the context
	}{
		"silent":         {silent, ""},
		"endless header": {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 101 x\r\n"); endless(c, "a: b\r\n") }, "connect to the runtime's streaming server"},
		"endless line":   {func(c net.Conn) { endless(c, "HTTP/1.1 ") }, "connect to the runtime's streaming server"},
		"not HTTP":       {func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n\r\n") }, "connect to the runtime's streaming server"},
		"closes":         {func(net.Conn) {}, "connect to the runtime's streaming server"},
		"404": {func(c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n")
		}, "it answered 404 Not Found: no"},
		"endless 500": {func(c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 500 x\r\n\r\n")
			endless(c, "no ")
		}, "it answered 500 x: no"},
		"redirect": {func(c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n\r\n")
		}, "it answered 302 Found"},
		"other protocol": {func(c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, strings.Replace(switching, "v4.", "v1.", 1))
		}, `it speaks "v1.channel.k8s.io"`},
		"silent SPDY":     {func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, switching); silent(c) }, ""},
		"SPDY closes":     {func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, switching) }, ErrLost.Error()},
		"endless garbage": {func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, switching); endless(c, "\xff\xfe") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if c.want != "" {
				ctx = t.Context()
			}
			err := Run(ctx, Session{URL: serve(t, c.handle), Stdout: io.Discard, Stderr: io.Discard})
			switch {
			case c.want == "" && err == nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// endless writes until the client is gone.
func endless(c net.Conn, text string) {
	for block := []byte(strings.Repeat(text, 1000)); ; {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// A connection that breaks is not a command that succeeded.
func TestLostConnection(t *testing.T) {
	r := simulated(t)
	_, id := container(t, r, "sleep", "600")
	direct, err := url.Parse(execURL(t, r, id, true, "cat"))
	if err != nil {
		t.Fatal(err)
	}
	target, cut := direct.Host, make(chan struct{})
	through := serve(t, func(c net.Conn) {
		server, err := net.Dial("tcp", target)
		if err != nil {
			t.Error(err)
			return
		}
		defer server.Close()
		go func() { _, _ = io.Copy(server, c) }()
		go func() { _, _ = io.Copy(c, server) }()
		<-cut
	})
	via, err := url.Parse(through)
	if err != nil {
		t.Fatal(err)
	}
	direct.Host = via.Host
	in, typed := io.Pipe()
	out, shown := io.Pipe()
	go func() {
		_, _ = io.WriteString(typed, "x")
		_, _ = io.ReadFull(out, make([]byte, 1)) // the session works
		close(cut)
	}()
	if err := Run(t.Context(), Session{URL: direct.String(), Stdin: in, Stdout: shown, Stderr: io.Discard}); !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
}
