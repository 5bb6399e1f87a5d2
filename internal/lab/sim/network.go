package sim

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// SetLoopback gives the pods from now on addresses of the host's loopback, 127.88.0.0/16,
// and makes them reachable there: containers that run httpd listen, and host ports lead to
// them. Only Linux has these addresses.
func (r *Runtime) SetLoopback() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loopback = true
}

// address is that of a sandbox, "" without one.
func (s *sandbox) address() string {
	subnet := "10.88"
	if s.loopback {
		subnet = "127.88"
	}
	if s.ip == 0 {
		return ""
	}
	return fmt.Sprintf("%s.%d.%d", subnet, s.ip>>8, s.ip&255)
}

// listens is where the containers of a sandbox listen, "" where they cannot.
func (s *sandbox) listens() string {
	if s.loopback && s.hostNetwork() {
		return "127.0.0.1"
	} else if s.loopback {
		return s.address()
	}
	return ""
}

// openHostPorts makes the host ports of a sandbox lead to it until they are closed.
func (s *sandbox) openHostPorts() error {
	for _, p := range s.config.GetPortMappings() {
		if !s.loopback || s.hostNetwork() || p.HostPort == 0 || p.Protocol != runtimeapi.Protocol_TCP {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(p.HostPort))))
		if err != nil {
			s.closeHostPorts()
			return err
		}
		s.hostPorts = append(s.hostPorts, l)
		to := net.JoinHostPort(s.address(), strconv.Itoa(int(p.ContainerPort)))
		go func() {
			for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
				go func() { _ = connect(conn, to) }()
			}
		}()
	}
	return nil
}

func (s *sandbox) closeHostPorts() {
	for _, l := range s.hostPorts {
		_ = l.Close()
	}
	s.hostPorts = nil
}

// connect copies between a connection and one that it makes, until either ends.
func connect(a io.ReadWriteCloser, to string) error {
	defer func() { _ = a.Close() }()
	b, err := net.DialTimeout("tcp", to, time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]io.ReadWriter{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		}()
	}
	<-ended
	return nil
}

// httpd serves /var/www at a port ("-p 80") until the shell ends; "/" is there without a file.
func (s *shell) httpd(args []string) {
	port := strings.TrimPrefix(strings.Join(append(args, "80")[:max(1, len(args))], ""), "-p")
	l, err := net.Listen("tcp", net.JoinHostPort(s.p.listens, port))
	if err != nil {
		s.err(fmt.Sprintf("httpd: bind: %v\n", err))
		s.status = 1
		return
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, err := s.p.fs.read(path.Join("/var/www", path.Clean("/"+req.URL.Path)))
		if err != nil && req.URL.Path != "/" {
			http.NotFound(w, req)
			return
		}
		_, _ = io.WriteString(w, text)
	})}
	defer context.AfterFunc(s.ctx, func() { _ = server.Close() })()
	_ = server.Serve(l)
}
