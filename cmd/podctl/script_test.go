package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podctl/podctl/cmd/podctl/internal/runview"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/sim"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"podctl": func() {
		e := shell.NewEnv(signals())
		e.Simulate = scriptedSim
		os.Exit(runProgram(os.Args, e))
	}})
}

// scriptedSim is "sim:" in the scripts: a few of its images and containers
// are special.
func scriptedSim() (*sim.Runtime, func()) {
	r := sim.New(sim.Options{})
	r.SetImage("registry.test/missing:1", sim.ImageScript{Absent: true, PullErr: status.Error(codes.NotFound,
		`failed to pull and unpack image "registry.test/missing:1": not found`)})
	r.Script("nocommand", sim.Script{StartErr: status.Error(codes.Unknown,
		`failed to create containerd task: exec: "/no/such": stat /no/such: no such file or directory`)})
	r.Script("hungry", sim.Script{Program: &sim.Program{OOMKilled: true}})
	return r, r.Close
}

// TestScripts runs testdata/script/*.txtar. Beside testscript's own commands
// these, and the condition "runtime": this machine has a CRI runtime.
//
//	exit N podctl …     podctl exits with exactly N
//	jsonlines FILE      each line of the file is one object of `run -o json`
//	clean               podctl left no temporary file
//	simulate SOCKET     a simulated runtime with two pods serves the socket
//	listen KIND SOCKET  something serves the socket that is not CRI: http, silent, grpc, closing
//
// Each script has scriptTimeout for itself, however long it waited for its turn.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			testscript.RunT(inTurn{t}, scriptParams(file, time.Now().Add(scriptTimeout)))
		})
	}
}

// scriptTimeout is how long one script may take on a loaded machine.
const scriptTimeout = 4 * time.Minute

// inTurn runs the one script of a test as the test itself.
type inTurn struct{ *testing.T }

func (inTurn) Parallel() {}

func (t inTurn) Run(_ string, run func(testscript.T)) { run(t) }

func (inTurn) Verbose() bool { return testing.Verbose() }

func scriptParams(file string, deadline time.Time) testscript.Params {
	return testscript.Params{
		Files:               []string{file},
		Deadline:            deadline,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// A runtime that the machine has must not be found.
			e.Setenv("CRI_CONFIG_FILE", filepath.Join(e.WorkDir, "no-crictl.yaml"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "runtime" {
				return false, errors.New("unknown condition " + name)
			}
			_, err := cri.Discover(context.Background(), cri.DiscoverOptions{})
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exitCommand, "jsonlines": jsonLinesCommand, "clean": cleanCommand, "listen": listenCommand,
			"simulate": simulateCommand,
		},
	}
}

func exitCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func jsonLinesCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonlines FILE")
	}
	n := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		d := json.NewDecoder(bytes.NewReader([]byte(line)))
		d.DisallowUnknownFields()
		var l runview.RunLine
		if err := d.Decode(&l); err != nil {
			ts.Fatalf("line %q: %v", line, err)
		}
		if d.More() || l.Time.IsZero() || l.Type == "" {
			ts.Fatalf("line %q: not one object with a time and a type", line)
		}
		n++
	}
	if n == 0 {
		ts.Fatalf("no lines")
	}
}

func cleanCommand(ts *testscript.TestScript, neg bool, args []string) {
	left, err := os.ReadDir(ts.Getenv("TMPDIR"))
	ts.Check(err)
	if len(left) > 0 {
		ts.Fatalf("left behind: %v", left)
	}
}

func TestPermissionDeniedNamesTheSocketAndExits3(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("drops root's privileges the way that Linux does")
	}
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "cri.sock")
	r := sim.New(sim.Options{})
	t.Cleanup(r.Close)
	serveAt(t, socket, r.Serve)
	if err := os.Chmod(socket, 0); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "podctl")
	copyFile(t, self, program)
	cmd := exec.Command(program, "-r", socket, "run", "-")
	cmd.Dir = "/"
	cmd.Stdin = strings.NewReader(jobManifest)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	var errw bytes.Buffer
	cmd.Stderr = &errw
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != shell.ExitUnreachable {
		t.Errorf("%v, want exit code 3\n%s", err, errw.String())
	}
	for _, want := range []string{"podctl: run: connect to unix://" + socket, "permission denied", "hint: "} {
		if !strings.Contains(errw.String(), want) {
			t.Errorf("stderr has no %q:\n%s", want, errw.String())
		}
	}
}

const jobManifest = `
apiVersion: v1
kind: Pod
metadata: {name: job}
spec:
  restartPolicy: Never
  containers:
  - {name: job, image: busybox, command: [sh, -c, "echo done"]}
`

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
