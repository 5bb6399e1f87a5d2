package attach

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/hint"
)

// sockets are a runtime's socket and a swap of it.
func sockets(t *testing.T) (*Swap, *net.UnixListener) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cri.sock")
	runtime := listen(t, path)
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	s, l, err := create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = l.Close(), s.close() })
	return s, runtime
}

func listen(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func names(t *testing.T, s *Swap) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(s.Path))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		which := map[socketAt]string{runtimes: "runtime", trace: "trace", other: "other"}[s.at(filepath.Join(filepath.Dir(s.Path), e.Name()))]
		all = append(all, strings.ReplaceAll(e.Name(), filepath.Base(s.Parked), "parked")+"="+which)
	}
	return strings.Join(all, " ")
}

// TestUndo shows what is left after each thing that can happen to a swap.
func TestUndo(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(t *testing.T, s *Swap, runtime *net.UnixListener)
		want    string
		wrong   string
	}{
		"nothing": {func(*testing.T, *Swap, *net.UnixListener) {}, "cri.sock=runtime", ""},
		"it was undone": {func(t *testing.T, s *Swap, _ *net.UnixListener) {
			if err := s.Undo(); err != nil {
				t.Fatal(err)
			}
		}, "cri.sock=runtime", ""},
		"the runtime has exited": {func(_ *testing.T, _ *Swap, runtime *net.UnixListener) { _ = runtime.Close() }, "cri.sock=runtime", ""},
		"the runtime has exited and removed its socket": {func(_ *testing.T, s *Swap, runtime *net.UnixListener) {
			_, _ = os.Remove(s.Path), runtime.Close()
		}, "", ""},
		"the runtime was restarted": {func(t *testing.T, s *Swap, runtime *net.UnixListener) {
			_, _ = os.Remove(s.Path), runtime.Close()
			listen(t, s.Path)
		}, "cri.sock=other", ""},
		"somebody removed the socket": {func(_ *testing.T, s *Swap, _ *net.UnixListener) { _ = os.Remove(s.Path) }, "cri.sock=runtime", ""},
		"a second runtime serves the path": {func(t *testing.T, s *Swap, _ *net.UnixListener) {
			_ = os.Remove(s.Path)
			listen(t, s.Path)
		}, "parked=runtime cri.sock=other", "stays at"},
		"the runtime's socket was removed": {func(_ *testing.T, s *Swap, _ *net.UnixListener) { _ = os.Remove(s.Parked) }, "cri.sock=trace", "restart the runtime"},
	} {
		t.Run(name, func(t *testing.T) {
			s, runtime := sockets(t)
			if err := s.Place(); err != nil {
				t.Fatal(err)
			}
			if got := names(t, s); got != "parked=runtime cri.sock=trace" {
				t.Fatal(got)
			}
			c.happens(t, s, runtime)
			err := s.Undo()
			if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("error %v, want %q", err, c.wrong)
			}
			if got := names(t, s); got != c.want {
				t.Errorf("left %q, want %q", got, c.want)
			}
		})
	}
}

// TestRestartInTheExchange: the runtime restarts between the look at the names and the step.
func TestRestartInTheExchange(t *testing.T) {
	for name, c := range map[string]struct {
		placed   bool
		exchange func(s *Swap) error
		want     string
	}{
		"while the trace is placed":  {false, func(s *Swap) error { return s.exchange(trace, runtimes) }, "parked=trace cri.sock=other"},
		"while it is undone":         {true, func(s *Swap) error { return s.exchange(runtimes, trace) }, "parked=runtime cri.sock=other"},
		"and what is left is undone": {true, func(s *Swap) error { return errors.Join(s.exchange(runtimes, trace), s.Undo()) }, "cri.sock=other"},
	} {
		t.Run(name, func(t *testing.T) {
			s, runtime := sockets(t)
			if c.placed {
				if err := s.Place(); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = os.Remove(s.Path), runtime.Close()
			listen(t, s.Path)
			if err := c.exchange(s); !errors.Is(err, errReplaced) {
				t.Errorf("error %v", err)
			}
			if got := names(t, s); got != c.want {
				t.Errorf("left %q, want %q", got, c.want)
			}
		})
	}
}

func TestIsWrong(t *testing.T) {
	for _, c := range []struct {
		path, beside socketAt
		served, want bool
	}{
		{runtimes, other, false, true}, {runtimes, other, true, false}, {runtimes, gone, false, true},
		{trace, other, false, true}, {trace, other, true, true}, {trace, runtimes, true, false},
		{other, runtimes, true, true}, {other, runtimes, false, false}, {other, trace, false, false}, {other, other, true, false},
	} {
		if got := isWrong(c.path, c.beside, c.served); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestLeftError(t *testing.T) {
	for _, c := range []struct {
		server, leftServer, of int
		want, hint             string
	}{
		{7, notServed, 5, "its runtime has exited", "rm /left"},
		{notServed, 7, 5, "has left the runtime's socket at /left", "mv -T /left /cri.sock"},
		{5, 7, 5, "another trace is attached", "end that trace first"},
		{7, 7, 5, "pid 7, which serves it, serves /cri.sock too", "rm /left"},
		{8, 7, 5, "pid 7 serves it, and pid 8 serves /cri.sock", ""},
	} {
		err := leftError("/cri.sock", "/left", c.server, c.leftServer, c.of)
		if !strings.Contains(err.Error(), c.want) || hint.Of(err) != c.hint {
			t.Errorf("%+v: %v, hint %q", c, err, hint.Of(err))
		}
	}
}

func TestCheckDescriptors(t *testing.T) {
	if err := checkDescriptors(3); err != nil {
		t.Error(err)
	}
	if err := checkDescriptors(1 << 40); err == nil || !strings.HasPrefix(hint.Of(err), "ulimit -n ") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

func TestSwapBeforeItIsPlaced(t *testing.T) {
	s, _ := sockets(t)
	info, err := os.Stat(s.Parked)
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("mode %v, %v; want that of the runtime's", info.Mode(), err)
	}
	if _, _, err := create(s.Path); err == nil || !strings.Contains(err.Error(), "another trace is attached") && !strings.Contains(err.Error(), "has left it") {
		t.Errorf("a second one: %v", err)
	}
	if err := s.Undo(); err != nil {
		t.Error(err)
	}
	if got := names(t, s); got != "cri.sock=runtime" {
		t.Error(got)
	}
	_ = listen(t, s.Parked).Close()
	if _, _, err := create(s.Path); err == nil || !strings.Contains(err.Error(), "its runtime has exited") {
		t.Errorf("a socket that is left: %v", err)
	}
}

// The directory may be that of an unprivileged user, who replaces names in it.
func TestOwnerAndModeAreGivenToTheSocketNotToItsName(t *testing.T) {
	s, _ := sockets(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.Parked); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, s.Parked); err != nil {
		t.Fatal(err)
	}
	if err := s.copyAttributes(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of another file: %v, %v", info.Mode(), err)
	}
	if f, err := openSocket(victim); err == nil {
		t.Errorf("%s is no socket", f.Name())
	}
	if info, err := s.ours.Stat(); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("mode of the socket: %v, %v", info.Mode(), err)
	}
}

func TestPlaceRefusesASocketThatWasReplaced(t *testing.T) {
	s, _ := sockets(t)
	if err := os.Remove(s.Path); err != nil {
		t.Fatal(err)
	}
	listen(t, s.Path)
	if err := s.Place(); err == nil {
		t.Error("it was placed")
	}
	if got := names(t, s); got != "parked=trace cri.sock=other" {
		t.Error(got)
	}
}

func TestWatchdogUndoesSwapOfAnotherProcess(t *testing.T) {
	s, _ := sockets(t)
	second, err := OpenSwap(s.Path, s.Parked)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.close() }()
	if err := s.Place(); err != nil {
		t.Fatal(err)
	}
	if conn, err := second.Dial(t.Context()); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	if err := second.Undo(); err != nil {
		t.Error(err)
	}
	if got := names(t, s); got != "cri.sock=runtime" {
		t.Error(got)
	}
}

// A runtime that exits after the last look of Watch is seen at the end of the trace.
func TestExitedRuntime(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	r := &Runtime{PID: cmd.Process.Pid, Comm: "containerd", pidfd: pidfd}
	if err := r.Exited(); err != nil {
		t.Error(err)
	}
	_, _ = cmd.Process.Kill(), cmd.Wait()
	if err := r.Exited(); err == nil || !strings.HasSuffix(err.Error(), "has exited") {
		t.Errorf("error %v", err)
	}
}
