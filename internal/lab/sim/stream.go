package sim

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// streams serves Exec, Attach and PortForward with the library of the runtimes,
// at a port of 127.0.0.1 that is opened at the first of these calls.
type streams struct {
	mu     sync.Mutex
	server streaming.Server
	http   *http.Server
	served sync.WaitGroup
}

func (s *streams) get(r *Runtime) (streaming.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return s.server, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	config := streaming.DefaultConfig
	config.BaseURL = &url.URL{Scheme: "http", Host: l.Addr().String()}
	if s.server, err = streaming.NewServer(config, &streamer{r}); err != nil {
		_ = l.Close()
		return nil, err
	}
	s.http = &http.Server{Handler: s.server}
	s.served.Go(func() { _ = s.http.Serve(l) })
	return s.server, nil
}

// stop closes the port. Connections that were upgraded end with their processes.
func (s *streams) stop() {
	s.mu.Lock()
	server := s.http
	s.server, s.http = nil, nil
	s.mu.Unlock()
	if server != nil {
		_ = server.Close()
	}
	s.served.Wait()
}

// Exec prepares a command beside the container's process.
func (r *Runtime) Exec(_ context.Context, req *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	if _, err := r.runningProcess(req.ContainerId); err != nil {
		return nil, err
	}
	server, err := r.streams.get(r)
	if err != nil {
		return nil, err
	}
	return server.GetExec(req)
}

// Attach prepares an attachment to the container's process.
func (r *Runtime) Attach(_ context.Context, req *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	if _, err := r.runningProcess(req.ContainerId); err != nil {
		return nil, err
	}
	server, err := r.streams.get(r)
	if err != nil {
		return nil, err
	}
	return server.GetAttach(req)
}

// PortForward prepares connections to a sandbox's ports.
func (r *Runtime) PortForward(_ context.Context, req *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	r.mu.Lock()
	s := r.sandbox(req.PodSandboxId)
	ready := s != nil && s.ready
	r.mu.Unlock()
	switch {
	case s == nil:
		return nil, errorf(codes.NotFound, "failed to find sandbox %q: not found", req.PodSandboxId)
	case !ready:
		return nil, errorf(codes.Unknown, "sandbox container is not running")
	}
	server, err := r.streams.get(r)
	if err != nil {
		return nil, err
	}
	return server.GetPortForward(req)
}

// runningProcess is the container, if it runs.
func (r *Runtime) runningProcess(id string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.container(id)
	switch {
	case c == nil:
		return nil, errorf(codes.NotFound, "failed to find container %q in store: not found", id)
	case c.state != runtimeapi.ContainerState_CONTAINER_RUNNING:
		return nil, errorf(codes.Unknown, "container is in %s state", c.state)
	}
	return c, nil
}

// streamer carries out what a client has connected to.
type streamer struct{ r *Runtime }

var _ streaming.Runtime = (*streamer)(nil)

// Exec runs a command.
func (s *streamer) Exec(ctx context.Context, id string, cmd []string, in io.Reader, out, errw io.WriteCloser, tty bool, _ <-chan remotecommand.TerminalSize) error {
	c, err := s.r.runningProcess(id)
	if err != nil {
		return err
	}
	s.r.mu.Lock()
	script := s.r.scriptFor(c)
	s.r.mu.Unlock()
	prompt := ""
	if tty {
		errw, prompt = out, "/ # "
	}
	var failed error // of the client, which has gone
	write := func(w io.Writer) func(string) {
		return func(text string) {
			if tty {
				text = strings.ReplaceAll(text, "\n", "\r\n")
			}
			if text != "" && failed == nil {
				_, failed = io.WriteString(w, text)
			}
		}
	}
	var typed io.Reader
	if in != nil {
		r, w := io.Pipe()
		defer func() { _ = r.Close() }()
		defer context.AfterFunc(c.process.ctx, func() { _ = r.Close() })()
		go typeInto(w, in, out, tty) // ends with the client's connection
		typed = r
	}
	reply := script.execTo(ctx, c.process, cmd, prompt, typed, write(out), write(errw))
	switch {
	case reply.Err != nil:
		return fmt.Errorf("failed to exec in container: %w", reply.Err)
	case failed != nil:
		return failed
	}
	if reply.ExitCode != 0 {
		return exitError(reply.ExitCode)
	}
	return nil
}

// typeInto copies what a client types. A terminal echoes it and ends the input at ^D.
func typeInto(w io.WriteCloser, in io.Reader, echo io.Writer, tty bool) {
	defer func() { _ = w.Close() }()
	if !tty {
		_, _ = io.Copy(w, in)
		return
	}
	line, one := []byte{}, make([]byte, 1)
	for {
		if _, err := io.ReadFull(in, one); err != nil {
			return
		}
		switch b := one[0]; b {
		case '\r', '\n':
			_, _ = io.WriteString(echo, "\r\n")
			if _, err := w.Write(append(line, '\n')); err != nil {
				return
			}
			line = line[:0]
		case 0x04:
			if len(line) == 0 {
				return
			}
		case 0x03:
			_, _ = io.WriteString(echo, "^C\r\n")
			line = line[:0]
		case 0x7f:
			if len(line) > 0 {
				line = line[:len(line)-1]
				_, _ = io.WriteString(echo, "\b \b")
			}
		default:
			if len(line) < 4095 { // as the kernel
				line = append(line, b)
				_, _ = echo.Write(one)
			}
		}
	}
}

// Attach copies what the process writes until it ends, and to its input what is typed.
func (s *streamer) Attach(ctx context.Context, id string, in io.Reader, out, errw io.WriteCloser, tty bool, _ <-chan remotecommand.TerminalSize) error {
	c, err := s.r.runningProcess(id)
	if err != nil {
		return err
	}
	if tty {
		errw = out
	}
	detach := c.process.log.attach(func(stream, text string) {
		w := out
		if stream == "stderr" {
			w = errw
		}
		if w != nil {
			_, _ = io.WriteString(w, text) // the client may be gone
		}
	})
	defer detach()
	if in != nil && c.process.typed != nil {
		go typeInto(stayOpen{c.process.typed, c.config.GetStdinOnce()}, in, out, tty)
	}
	select {
	case <-c.exited:
	case <-ctx.Done():
	}
	return nil
}

// stayOpen is a writer that is closed only if it is to be used once.
type stayOpen struct {
	io.WriteCloser
	once bool
}

func (s stayOpen) Close() error {
	if s.once {
		return s.WriteCloser.Close()
	}
	return nil
}

// PortForward connects to a port of the sandbox that Ports serves.
func (s *streamer) PortForward(_ context.Context, id string, port int32, stream io.ReadWriteCloser) error {
	s.r.mu.Lock()
	box := s.r.sandbox(id)
	var serve func(io.ReadWriteCloser)
	listens := ""
	if box != nil && box.ready {
		serve, listens = s.r.ports[box.config.GetMetadata().GetName()][uint16(port)], box.listens()
	}
	s.r.mu.Unlock()
	if listens != "" {
		return connect(stream, net.JoinHostPort(listens, strconv.Itoa(int(port))))
	}
	if serve == nil {
		return fmt.Errorf("failed to execute portforward in network namespace: failed to connect to localhost:%d inside namespace %q, IPv4: dial tcp4 127.0.0.1:%d: connect: connection refused", port, id, port)
	}
	serve(stream)
	return nil
}

// ServePort makes a process of the pod listen at a port: serve is called for
// each connection.
func (r *Runtime) ServePort(pod string, port uint16, serve func(io.ReadWriteCloser)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ports[pod] == nil {
		r.ports[pod] = map[uint16]func(io.ReadWriteCloser){}
	}
	r.ports[pod][port] = serve
}

// exitError is a command's exit code, as the streaming library asks for it.
type exitError int

func (e exitError) Error() string   { return fmt.Sprintf("exit code %d", int(e)) }
func (e exitError) String() string  { return e.Error() }
func (e exitError) Exited() bool    { return true }
func (e exitError) ExitStatus() int { return int(e) }
