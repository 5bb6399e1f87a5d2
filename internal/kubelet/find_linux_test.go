package kubelet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain lets the test binary, copied to a file named kubelet, connect to
// a socket and wait.
func TestMain(m *testing.M) {
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
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "connected\n" {
		t.Fatalf("%s did not connect: %q %v", name, line, err)
	}
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

func TestKubeletCountsOnItsOwnSocketOnly(t *testing.T) {
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
	if err := CheckNone(ours); err != nil {
		t.Errorf("a kubelet on another socket: %v", err)
	}
	kubelet := connect(t, "kubelet", ours)
	for _, path := range []string{ours, link} {
		var beside *BesideError
		if err := CheckNone(path); !errors.As(err, &beside) {
			t.Errorf("%s: got %v, want *BesideError", path, err)
		} else if beside.PID != kubelet.Process.Pid {
			t.Errorf("%s: names pid %d, want %d", path, beside.PID, kubelet.Process.Pid)
		}
	}
}
