package kubelet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

// TestMain lets the test binary, copied to a file named kubelet, connect to
// a socket and wait.
func TestMain(m *testing.M) {
	if os.Getenv("KUBELET_TEST_WAIT") != "" {
		_, _ = io.WriteString(os.Stdout, "ready\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it
		return
	}
	if os.Getenv(serveVariable) != "" {
		servePods()
		return
	}
	if path := os.Getenv("KUBELET_TEST_CONNECT"); path != "" {
		conn, err := net.Dial("unix", path)
		if err != nil {
			os.Exit(1)
		}
		defer conn.Close()
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			os.Exit(1) // it was not accepted
		}
		if _, err := os.Stdout.WriteString("connected\n"); err != nil {
			os.Exit(1)
		}
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it
		return
	}
	os.Exit(m.Run())
}

// connect starts a copy of the test binary under that name, connected to the socket.
func connect(t *testing.T, name, socket string) *exec.Cmd {
	t.Helper()
	exe := filepath.Join(t.TempDir(), name)
	copyFile(t, os.Args[0], exe)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "KUBELET_TEST_CONNECT="+socket)
	_, end := testutil.Child(t, cmd)
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return cmd
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// listen accepts connections on a socket, and says so to each client: before
// that the kernel does not list them.
func listen(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = conn.Write([]byte{1}) // a client may have gone
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
}

func TestCheckNoneFindsKubeletOnSameSocketOnly(t *testing.T) {
	openOtherKinds(t)
	// Names of every length modulo netlink's attribute alignment.
	for n := range 4 {
		dir := filepath.Join(t.TempDir(), "length"[:n+1])
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		testKubelet(t, dir)
	}
}

// openOtherKinds opens unix sockets that are not streams, enough of them that
// some precede ours in the kernel's table.
func openOtherKinds(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for n := range 64 {
		datagrams, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(dir, fmt.Sprint("d", n))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { datagrams.Close() })
		packets, err := net.Listen("unixpacket", filepath.Join(dir, fmt.Sprint("p", n)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { packets.Close() })
	}
}

func testKubelet(t *testing.T, dir string) {
	t.Helper()
	ours, theirs := filepath.Join(dir, "ours.sock"), filepath.Join(dir, "theirs.sock")
	listen(t, ours)
	listen(t, theirs)
	link := filepath.Join(dir, "link.sock")
	if err := os.Symlink(ours, link); err != nil {
		t.Fatal(err)
	}
	connect(t, "crictl", ours)
	connect(t, "kubelet", theirs)
	if err := CheckNone(t.Context(), ours); err != nil {
		t.Errorf("a kubelet on another socket: %v", err)
	}
	kubelet := connect(t, "kubelet", ours)
	for _, path := range []string{ours, link} {
		want := fmt.Sprintf("a kubelet (kubelet, pid %d) is connected to %s: ", kubelet.Process.Pid, path)
		if err := CheckNone(t.Context(), path); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(hint.Of(err), "--beside-kubelet") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// What a process named kubelet says counts only if it can be one.
func TestMayBeKubelet(t *testing.T) {
	const all, some = "000001ffffffffff", "00000000a80425fb"
	for _, c := range []struct {
		name, user, capabilities string
		want                     bool
	}{
		{"a kubelet, on the host or in a container", "user:[1]", all, true},
		{"in a container without privileges, or a user of the host", "user:[1]", some, false},
		{"in a user namespace", "user:[2]", all, false},
		{"a user namespace that must not be read", "", some, true},
	} {
		procfs := proc.FS(t.TempDir())
		for pid, user := range map[int]string{os.Getpid(): "user:[1]", 7: c.user} {
			dir := filepath.Join(string(procfs), strconv.Itoa(pid))
			ns := filepath.Join(dir, "ns", "user")
			if err := errors.Join(
				os.MkdirAll(filepath.Dir(ns), 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte("7 (kubelet) S 1"), 0o600),
				os.WriteFile(filepath.Join(dir, "status"), []byte("CapEff:\t"+c.capabilities+"\n"), 0o600),
			); err != nil {
				t.Fatal(err)
			}
			link := func() error { return os.Symlink(user, ns) }
			if user == "" {
				link = func() error { return os.WriteFile(ns, nil, 0o600) } // no link: there, and not readable
			}
			if err := link(); err != nil {
				t.Fatal(err)
			}
		}
		if got := mayBeKubelet(procfs, 7); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if mayBeKubelet(proc.FS(t.TempDir()), 7) {
		t.Error("a process that has exited may be a kubelet")
	}
}

// A process named kubelet that could not be one adds no socket.
func TestRuntimeNamesIgnoreUnprivilegedProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it starts a process of another user")
	}
	exe := filepath.Join("/tmp", fmt.Sprintf("podctl-test-%d", os.Getpid()), "kubelet")
	if err := os.MkdirAll(filepath.Dir(exe), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(exe)) })
	copyFile(t, os.Args[0], exe)
	for _, c := range []struct {
		uid  uint32
		want bool
	}{{0, true}, {65534, false}} {
		cmd := exec.Command(exe, "--container-runtime-endpoint=unix:///run/bus.sock")
		cmd.Env = append(os.Environ(), "KUBELET_TEST_WAIT=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid}}
		_, end := testutil.Child(t, cmd)
		visible, err := readVisibleProcesses()
		if err != nil {
			t.Fatal(err)
		}
		names, err := visible.runtimeNames(t.Context())
		if _, got := names[cmd.Process.Pid]; err != nil || got != c.want {
			t.Errorf("of user %d its socket counts: %v, %v", c.uid, got, err)
		}
		pid, err := findConfigured(t.Context(), "/run/bus.sock")
		_ = end()
		if err != nil || (pid == cmd.Process.Pid) != c.want {
			t.Errorf("of user %d the kubelet of its socket is %d, %v", c.uid, pid, err)
		}
	}
}
