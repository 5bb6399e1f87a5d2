package live

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live/bare"
)

// Kinds of runtimes, as hack/runtime names them.
const (
	Containerd   = "containerd"        // 2.4.2
	Containerd17 = "containerd-1.7"    // 1.7.35
	Distro       = "containerd-distro" // the distribution's: 1.6 in Debian 12
	CRIO         = "crio"              // 1.34, which has its events switched off
	CRIOEvents   = "crio-events"       // the same with events
)

// Where hack/runtime keeps state and data, a directory per name.
const (
	runBase = "/run/podctl-dev"
	libBase = "/var/lib/podctl-dev"
)

// cannot is hack/runtime's exit code for a host that cannot run the kind.
const cannot = 3

// Instance is one private runtime.
type Instance struct {
	Kind     string
	Name     string
	Endpoint string // unix:///run/podctl-dev/NAME/cri.sock
	run, lib string
	// kubeletFlags go to the kubelet of KubeletKind with the next Start.
	kubeletFlags []string
}

// shared holds the runtimes of this test binary by kind.
var shared struct {
	sync.Mutex
	instances map[string]*Instance
	main      bool // Main was called and will take them down
	count     int
}

// Option changes what Runtime gives.
type Option func(*options)

type options struct {
	private      bool
	kubeletFlags []string
}

// Private asks for a runtime of the test's own, taken down when it ends.
func Private() Option { return func(o *options) { o.private = true } }

// Kinds returns the kinds that tests should cover: PODCTL_LIVE_RUNTIMES,
// separated by spaces, or both containerds.
func Kinds() []string {
	return strings.Fields(cmp.Or(os.Getenv("PODCTL_LIVE_RUNTIMES"), Containerd+" "+Distro))
}

// Each runs the test once on every kind.
func Each(t *testing.T, test func(t *testing.T, rt *Instance)) {
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) { test(t, Runtime(t, kind)) })
	}
}

// One runs the test on the first of Kinds, for a test of what is alike on every runtime.
func One(t *testing.T, test func(t *testing.T, rt *Instance), opts ...Option) {
	kind := Kinds()[0]
	t.Run(kind, func(t *testing.T) { test(t, Runtime(t, kind, opts...)) })
}

// EachOf runs the test once on each of these kinds, for a test of what runtimes
// do differently; where PODCTL_LIVE_RUNTIMES is set, on those it names too.
func EachOf(t *testing.T, kinds []string, test func(t *testing.T, rt *Instance), opts ...Option) {
	if chosen := os.Getenv("PODCTL_LIVE_RUNTIMES"); chosen != "" {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !slices.Contains(strings.Fields(chosen), kind) })
		if len(kinds) == 0 {
			t.Skipf("live test: PODCTL_LIVE_RUNTIMES is %q", chosen)
		}
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { test(t, Runtime(t, kind, opts...)) })
	}
}

// Runtime returns a running private runtime of the kind: the one that all
// tests of this binary share, started again if a test left it dead, or with
// Private a new one. It skips the test where none can run.
func Runtime(t testing.TB, kind string, opts ...Option) *Instance {
	t.Helper()
	skipUnlessHost(t)
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.count == 0 {
		sweep(t)
	}
	if o.private {
		in := newInstance(kind)
		in.kubeletFlags = o.kubeletFlags
		t.Cleanup(func() { in.Down(t) })
		in.Start(t)
		return in
	}
	if !shared.main {
		t.Fatal("a shared runtime needs: func TestMain(m *testing.M) { live.Main(m) }")
	}
	if shared.instances[kind] == nil {
		shared.instances[kind] = newInstance(kind)
	}
	in := shared.instances[kind]
	if !in.answers() {
		in.Start(t)
	}
	return in
}

// answers reports whether the runtime was started and is alive.
func (in *Instance) answers() bool {
	if in.Endpoint == "" {
		return false
	}
	_, err := bare.List(in.Endpoint)
	return err == nil
}

// Main runs the tests, takes down the runtimes that they shared, calls after,
// and exits.
func Main(m *testing.M, after ...func()) {
	shared.main, shared.instances = true, map[string]*Instance{}
	before := pluginChains()
	code := m.Run()
	for _, in := range shared.instances {
		if out, err := hackRuntime("down", in.Kind, "--name", in.Name); err != nil {
			fmt.Fprintf(os.Stderr, "take down %s: %v\n%s", in.Name, err, out)
			code = 1
		}
	}
	if left := pluginChains(); len(left) > len(before) && len(glob(runBase+"/*")) == 0 {
		fmt.Fprintf(os.Stderr, "left over: chains %q\n", left)
		code = 1
	}
	for _, do := range after {
		do()
	}
	os.Exit(code)
}

// pluginChains are the host's chains of CNI plugins, none where there is no iptables.
func pluginChains() []string {
	rules, _ := exec.Command("iptables", "-w", "-t", "nat", "-S").Output()
	var chains []string
	for rule := range strings.Lines(string(rules)) {
		if name, ok := strings.CutPrefix(rule, "-N CNI-"); ok {
			chains = append(chains, "CNI-"+strings.TrimSpace(name))
		}
	}
	return chains
}

func newInstance(kind string) *Instance {
	shared.count++
	name := fmt.Sprintf("t%d-%d", os.Getpid(), shared.count)
	return &Instance{
		Kind: kind, Name: name,
		run: filepath.Join(runBase, name), lib: filepath.Join(libBase, name),
	}
}

// Start starts the runtime if it is not running, with the state that it had.
func (in *Instance) Start(t testing.TB) {
	t.Helper()
	args := []string{"up", in.Kind, "--name", in.Name}
	if len(in.kubeletFlags) > 0 {
		args = append(append(args, "--"), in.kubeletFlags...)
	}
	out, err := hackRuntime(args...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == cannot {
		skip(t, fmt.Sprintf("no %s: %s", in.Kind, out))
	}
	if err != nil {
		t.Fatalf("start %s: %v\n%s", in.Kind, err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	in.Endpoint = lines[len(lines)-1]
}

// Kill ends the runtime's daemon with SIGKILL and returns when it is gone. Its
// pods continue to run.
func (in *Instance) Kill(t testing.TB) {
	t.Helper()
	pid := in.PID(t)
	in.Signal(t, syscall.SIGKILL)
	eventually(t, fmt.Sprintf("process %d of %s ends", pid, in.Name), func() bool {
		return ended(pid)
	})
}

// Signal sends the runtime's daemon a signal: SIGSTOP freezes it, SIGCONT wakes
// it.
func (in *Instance) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(in.PID(t), signal); err != nil {
		t.Fatalf("signal %s: %v", in.Name, err)
	}
}

// PID is the process id of the runtime's daemon that was started last.
func (in *Instance) PID(t testing.TB) int {
	t.Helper()
	pid, err := strconv.Atoi(in.fact("pid"))
	if err != nil {
		t.Fatalf("pid of %s: %v", in.Name, err)
	}
	return pid
}

// Restart kills the runtime and starts it again.
func (in *Instance) Restart(t testing.TB) {
	t.Helper()
	in.Kill(t)
	in.Start(t)
}

// Down takes the runtime down with all its pods. Only for private ones.
func (in *Instance) Down(t testing.TB) {
	t.Helper()
	if out, err := hackRuntime("down", in.Kind, "--name", in.Name); err != nil {
		t.Errorf("take down %s: %v\n%s", in.Name, err, out)
	}
}

// sweep takes down what test binaries that were killed have left.
func sweep(t testing.TB) {
	dirs, _ := filepath.Glob(filepath.Join(runBase, "t*-*"))
	for _, dir := range dirs {
		var pid, n int
		name := filepath.Base(dir)
		if _, err := fmt.Sscanf(name, "t%d-%d", &pid, &n); err != nil || len(arguments(pid)) > 0 {
			continue
		}
		t.Logf("taking down %s, whose test is gone", name)
		if out, err := hackRuntime("down", "--name", name); err != nil {
			t.Logf("take down %s: %v\n%s", name, err, out)
		}
	}
}

func hackRuntime(args ...string) (string, error) {
	script, err := find("hack/runtime")
	if err != nil {
		return "", err
	}
	cmd := exec.Command(script, args...)
	var out, errw bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errw
	if err := cmd.Run(); err != nil {
		return errw.String(), err
	}
	return out.String(), nil
}

// Import loads the image of an OCI archive.
func (in *Instance) Import(t testing.TB, archive string) {
	t.Helper()
	if out, err := hackRuntime("load", archive, "--name", in.Name); err != nil {
		t.Fatalf("load %s into %s: %v\n%s", archive, in.Name, err, out)
	}
}

// Logged returns a function that returns the lines which the runtime has logged since and
// which contain one of the texts; none if its log cannot be read.
func (in *Instance) Logged(texts ...string) func() []string {
	path := filepath.Join(in.lib, "log")
	var before int64
	if info, err := os.Stat(path); err == nil {
		before = info.Size()
	}
	return func() []string {
		log, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		var found []string
		for line := range strings.Lines(string(log[min(before, int64(len(log))):])) {
			if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
				found = append(found, strings.TrimSuffix(line, "\n"))
			}
		}
		return found
	}
}
