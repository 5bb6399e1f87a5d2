package kubelet

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/testkit/testutil"
)

// serveVariable makes a run of the test binary serve a pod list on a port that it
// prints, until its input ends.
const serveVariable = "KUBELET_TEST_SERVE"

func servePods() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, oneLocalPod) }))
	defer server.Close()
	fmt.Fprintln(os.Stdout, server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it
}

// startServer starts a process that serves a pod list, and returns its PID and port.
func startServer(t *testing.T) (pid, port int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"=1")
	line, end := testutil.Child(t, cmd)
	t.Cleanup(func() { _ = end() })
	port, err := strconv.Atoi(line[strings.LastIndex(line, ":")+1:])
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return cmd.Process.Pid, port
}

// Everyone on the host may listen at a port that the kubelet does not use, or does not
// use now.
func TestAskRefusesAnswerOfAnotherProcess(t *testing.T) {
	pid, port := startServer(t)
	for _, embedded := range []bool{false, true} {
		p := &Process{PID: os.Getpid(), age: time.Hour}
		p.settings.embedded = embedded
		p.settings.config.Address, p.settings.config.ReadOnlyPort = "127.0.0.1", port
		want := fmt.Sprintf("answered by another process than the kubelet (pid %d)", os.Getpid())
		if a := p.Ask(t.Context(), Question{}); a.Err == nil || !strings.Contains(a.Err.Error(), want) || a.Incomplete == nil || len(a.Pods) > 0 {
			t.Errorf("an impostor: %+v", a)
		}
		if w := p.workingPods(t.Context()); w != (workingPods{}) {
			t.Errorf("metrics of an impostor: %+v", w)
		}
		p.PID, p.settings.embedded = pid, false
		if a := p.Ask(t.Context(), Question{}); a.Err != nil || len(a.Pods) != 1 {
			t.Errorf("the process itself: %+v", a)
		}
	}
}

// A server with a certificate of the kubelet has its key: its socket does not matter.
func TestAskAcceptsCertificateOfKubelet(t *testing.T) {
	other, _ := startServer(t)
	g := guard(t, "")
	g.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, oneLocalPod) })
	for _, c := range []struct {
		name  string
		pid   int
		files map[string][]byte
		want  bool
	}{
		{"its certificate, and the socket of another process", other, map[string][]byte{"/pki/kubelet.crt": g.certificate()}, true},
		{"another certificate, and the socket of another process", other, map[string][]byte{"/pki/kubelet.crt": otherCertificate}, false},
		{"no certificate that can be read, and the socket of another process", other, nil, false},
		{"another certificate, and its socket", os.Getpid(), map[string][]byte{"/pki/kubelet.crt": otherCertificate}, true},
	} {
		p := g.process(t, "", c.files)
		p.PID = c.pid
		if a := p.Ask(t.Context(), Question{}); (a.Err == nil) != c.want {
			t.Errorf("%s: %v", c.name, a.Err)
		}
	}
}

// Nothing is guessed where the process cannot be looked at.
func TestAnswerOfUnseenProcessIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, oneLocalPod) }))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	check := provenTransport{kubelet: &Process{PID: ended.Process.Pid}}.check(conn, &http.Response{})
	if check == nil || !strings.HasPrefix(check.Error(), "cannot see whether the kubelet (pid ") || hint.Of(check) != seeKubeletHint {
		t.Errorf("%v, hint %q", check, hint.Of(check))
	}
}

// The kernel answers with the listening socket where it has no connection.
func TestTCPSocketIsNotTheListener(t *testing.T) {
	for _, c := range []struct{ listen, dial string }{{"127.0.0.1:0", "127.0.0.1"}, {"[::]:0", "127.0.0.1"}, {"[::1]:0", "::1"}} {
		l, err := net.Listen("tcp", c.listen)
		if err != nil {
			t.Logf("%s: %v", c.listen, err) // a host without IPv6
			continue
		}
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial("tcp", net.JoinHostPort(c.dial, port))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		local, remote := netip.MustParseAddrPort(client.RemoteAddr().String()), netip.MustParseAddrPort(client.LocalAddr().String())
		if inode, err := tcpSocket(local, remote); err == nil {
			t.Errorf("%s: a connection that is not accepted has the socket %d", c.listen, inode)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		inode, err := tcpSocket(local, remote)
		if err != nil || inode != inodeOf(t, server) {
			t.Errorf("%s: socket %d, %v, want %d", c.listen, inode, err, inodeOf(t, server))
		}
		if inode, err := tcpSocket(local, netip.AddrPortFrom(remote.Addr(), 1)); err == nil {
			t.Errorf("%s: a connection that does not exist has the socket %d, the listener is %d", c.listen, inode, inodeOf(t, l))
		}
	}
}

// inodeOf is the inode of a socket of this process.
func inodeOf(t *testing.T, socket any) (inode uint32) {
	t.Helper()
	raw, err := socket.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		var stat syscall.Stat_t
		if err := syscall.Fstat(int(fd), &stat); err != nil {
			t.Error(err)
		}
		inode = uint32(stat.Ino)
	}); err != nil {
		t.Fatal(err)
	}
	return inode
}
