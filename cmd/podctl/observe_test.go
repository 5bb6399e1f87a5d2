package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/testkit/testutil"
)

// observer runs `podctl agent --observe` until the test ends. It returns what a path
// of its port answers: the status, 0 if nothing does, and the body.
func observer(t *testing.T, socket string) func(path string) (status int, body string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close() // for the observer
	interrupts := make(chan os.Signal)
	e := shell.NewEnv(interrupts)
	e.Out, e.Errw, e.TTY, e.Notify = io.Discard, io.Discard, false, nil
	ended := make(chan int, 1)
	go func() {
		ended <- runProgram([]string{"podctl", "-r", socket, "--timeout", "200ms", "--root", t.TempDir(), "agent", "--observe", "--listen", address}, e)
	}()
	t.Cleanup(func() {
		select {
		case interrupts <- syscall.SIGTERM:
			if code := <-ended; code != 0 && code != shell.ExitInterrupted {
				t.Errorf("the observer exited with %d", code)
			}
		case code := <-ended:
			t.Errorf("the observer exited with %d, uninterrupted", code)
		}
	})
	client := &http.Client{Timeout: time.Minute}
	return func(path string) (status int, body string) {
		resp, err := client.Get("http://" + address + path)
		if err != nil {
			return 0, ""
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return resp.StatusCode, string(text)
	}
}

// To restart an observer repairs no runtime: liveness never depends on a runtime
// call, readiness does.
func TestAHangingRuntimeMakesAnObserverUnreadyAndLeavesItAlive(t *testing.T) {
	r := sim.New(sim.Options{Record: true})
	t.Cleanup(r.Close)
	release := r.Inject("method=* hang") // every call
	socket := filepath.Join(t.TempDir(), "cri.sock")
	serveAt(t, socket, r.Serve)
	get := observer(t, socket)
	status := func(path string) int { code, _ := get(path); return code }
	testutil.Eventually(t, 20*time.Second, "the observer is alive and not ready", func() bool {
		return status("/healthz") == http.StatusOK && status("/readyz") == http.StatusInternalServerError
	})
	testutil.Eventually(t, 20*time.Second, "it calls the runtime again", func() bool { return len(r.Calls("Version")) > 1 })
	if got := status("/healthz"); got != http.StatusOK {
		t.Errorf("/healthz after a failed attempt: %d", got)
	}
	if got := status("/metrics"); got != http.StatusOK {
		t.Errorf("/metrics: %d", got)
	}
	release()
	testutil.Eventually(t, 20*time.Second, "the observer is ready once the runtime answers", func() bool { return status("/readyz") == http.StatusOK })
	release = r.Inject("method=* hang")
	defer release()
	for range 3 {
		if live, metrics := status("/healthz"), status("/metrics"); live != http.StatusOK || metrics != http.StatusOK {
			t.Errorf("while every call hangs again: /healthz %d, /metrics %d", live, metrics)
		}
	}
}

func TestAnObserverWaitsForItsRuntimeOnlyIfItServesHealth(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "cri.sock")
	get := observer(t, socket)
	status := func(path string) int { code, _ := get(path); return code }
	testutil.Eventually(t, 20*time.Second, "an observer without a runtime is alive and not ready", func() bool {
		return status("/healthz") == http.StatusOK && status("/readyz") == http.StatusInternalServerError
	})
	for series, want := range map[string]bool{"podctl_pleg_healthy 0": true, "podctl_running_pods": false, "podctl_scan_complete": false} {
		if _, body := get("/metrics"); strings.Contains(body, "\n"+series) != want {
			t.Errorf("before the runtime was reached: %s, want %v", series, want)
		}
	}
	e := shell.NewEnv(nil)
	var errw strings.Builder
	e.Out, e.Errw = io.Discard, &errw
	if code := runProgram([]string{"podctl", "-r", socket, "agent", "--observe"}, e); code != shell.ExitUnreachable {
		t.Errorf("exit code %d without --listen: %s", code, errw.String())
	}
}
