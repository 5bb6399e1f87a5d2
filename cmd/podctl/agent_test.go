package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"

	"github.com/podctl/podctl/cmd/podctl/internal/runview"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/testkit/testutil"
)

// agentUnderTest is an agent on a simulated runtime, in real time: what
// notifies of changes to files does not know any other.
type agentUnderTest struct {
	*command
	mu     sync.Mutex
	states []string
}

func startAgent(t *testing.T, dir string, args ...string) *agentUnderTest {
	t.Helper()
	return startAgentTo(t, nil, dir, args...)
}

// startAgentTo starts an agent that prints to out, nil for its screen.
func startAgentTo(t *testing.T, out io.Writer, dir string, args ...string) *agentUnderTest {
	t.Helper()
	runtime := sim.New(sim.Options{})
	a := &agentUnderTest{command: &command{t: t, interrupts: make(chan os.Signal, 4), code: make(chan int, 1)}}
	level := &slog.LevelVar{}
	level.Set(slog.LevelError)
	network := &pipeNet{}
	e := &shell.Env{
		In: strings.NewReader(""), Out: &a.out, Errw: &a.errw, Size: func() (int, int) { return 0, 0 }, Now: time.Now,
		Simulate: func() (*sim.Runtime, func()) { return runtime, runtime.Close }, SimOutlives: true,
		Listen: network.listen, Dial: network.dial, Procs: proc.FS(testutil.EmptyProc(t)),
		Notify: func(state string) time.Duration {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.states = append(a.states, state)
			return 20 * time.Millisecond
		},
		Interrupts: a.interrupts, Log: slog.New(slog.NewTextHandler(&a.errw, &slog.HandlerOptions{Level: level})), Level: level,
	}
	if out != nil {
		e.Out = out
	}
	all := []string{"podctl", "-r", "sim:", "--root", filepath.Join(dir, "root"), "--log-dir", filepath.Join(dir, "logs"), "--run-dir", filepath.Join(dir, "run"), "agent"}
	go func() { a.code <- runProgram(append(all, args...), e) }()
	return a
}

func (a *agentUnderTest) prints(text string) {
	a.t.Helper()
	testutil.Eventually(a.t, time.Minute, fmt.Sprintf("podctl prints %q", text),
		func() bool { return strings.Contains(a.out.String(), text) },
		func() string { return a.out.String() + a.errw.String() })
}

const agentPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: i, command: [sleep, '3600']}]}\n"

// It is ready once every source was read, tells of its health as often as is
// asked for, and says when it stops; the pods go on.
func TestAgentTellsTheServiceManager(t *testing.T) {
	dir := t.TempDir()
	manifest := filepath.Join(dir, "web.yaml")
	if err := os.WriteFile(manifest, []byte(agentPod), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, dir, "--manifests", manifest, "--manifests", filepath.Join(dir, "missing"))
	a.prints("all containers are ready")
	a.prints("missing: no such file or directory · nothing is started from it until it can be read")
	testutil.Poll(time.Minute, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return slices.Contains(a.states, "WATCHDOG=1")
	})
	a.interrupts <- syscall.SIGTERM
	a.ends(0, time.Minute)
	a.prints("leaving 1 pod running")
	a.mu.Lock()
	defer a.mu.Unlock()
	states := slices.Compact(slices.DeleteFunc(a.states, func(s string) bool { return s == "" }))
	if i := slices.Index(states, "READY=1"); i < 0 || slices.Index(states, "WATCHDOG=1") < 0 || states[len(states)-1] != "STOPPING=1" {
		t.Errorf("told %q", states)
	}
	if a.errw.String() != "" {
		t.Errorf("stderr: %s", a.errw.String())
	}
}

func TestAgentPrintsObjects(t *testing.T) {
	dir := t.TempDir()
	manifests := filepath.Join(dir, "manifests")
	if err := os.Mkdir(manifests, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"web.yaml": agentPod, "bad.yaml": "kind: Pod\n"} {
		if err := os.WriteFile(filepath.Join(manifests, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := startAgent(t, dir, "--manifests", manifests, "--drain", "-o", "json")
	a.prints(`"reason":"Ready"`)
	a.interrupts <- syscall.SIGTERM
	a.ends(0, time.Minute)
	reasons := map[string]bool{}
	for line := range strings.Lines(a.out.String()) {
		var l runview.RunLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		reasons[l.Type+" "+l.Reason] = true
		if l.Type == "source" && !strings.Contains(l.Message, "bad.yaml:1: ") {
			t.Errorf("of a source: %+v", l)
		}
	}
	for _, want := range []string{"source failed", "event Ready", "event Removed", "note "} {
		if !reasons[want] {
			t.Errorf("no %q in\n%s", want, a.out.String())
		}
	}
}

func TestAgentSaysWhichOfTwoSourcesCounts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(agentPod), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := startAgent(t, dir, "--manifests", filepath.Join(dir, "b.yaml"), "--manifests", filepath.Join(dir, "a.yaml"))
	a.prints("b.yaml:1: pod default/web is also defined at " + filepath.Join(dir, "a.yaml") + ":1, which is used")
	a.prints("all containers are ready")
	a.interrupts <- syscall.SIGTERM
	a.ends(0, time.Minute)
}

// An agent whose output is not read follows its manifests, runs their pods and
// stops on SIGTERM.
func TestAgentWithAStalledOutputGoesOn(t *testing.T) {
	dir := t.TempDir()
	manifests := filepath.Join(dir, "manifests")
	manifest := filepath.Join(manifests, "web.yaml")
	if err := errors.Join(os.Mkdir(manifests, 0o700), os.WriteFile(manifest, []byte(agentPod), 0o600)); err != nil {
		t.Fatal(err)
	}
	unread, stdout := io.Pipe()
	defer unread.Close()
	a := startAgentTo(t, stdout, dir, "--manifests", manifests)
	pods := func(n int) {
		t.Helper()
		testutil.Eventually(t, time.Minute, fmt.Sprintf("there are %d pods", n),
			func() bool { found, _ := os.ReadDir(filepath.Join(dir, "root", "pods")); return len(found) == n },
			func() string { return a.errw.String() })
	}
	pods(1)
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	pods(0)
	a.interrupts <- syscall.SIGTERM
	a.ends(0, time.Minute)
}

// A PriorityClass and a volume that are declared after the pod, in another directory, apply to
// it; without the class it does not start.
func TestAgentAppliesObjectsThatComeLater(t *testing.T) {
	dir := t.TempDir()
	pods, objects, data := filepath.Join(dir, "pods"), filepath.Join(dir, "objects"), filepath.Join(dir, "data")
	err := errors.Join(os.Mkdir(pods, 0o700), os.Mkdir(objects, 0o700), os.Mkdir(data, 0o700),
		os.WriteFile(filepath.Join(data, "index.html"), []byte("hello"), 0o600),
		os.WriteFile(filepath.Join(pods, "web.yaml"), []byte(`apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  priorityClassName: gold
  containers: [{name: c, image: i, command: [sleep, "3600"], volumeMounts: [{name: d, mountPath: /d}]}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: site}}]
`), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, dir, "--manifests", pods, "--config-from", objects)
	a.prints("web.yaml:6: pod \"web\": spec.priorityClassName: no PriorityClass with name gold was found")
	a.prints("web.yaml:8: pod \"web\": spec.volumes[0].persistentVolumeClaim.claimName: PersistentVolumeClaim \"site\" is not declared")
	if strings.Contains(a.out.String(), "sandbox ready") {
		t.Errorf("it starts without its class:\n%s", a.out.String())
	}
	if err := os.WriteFile(filepath.Join(objects, "all.yaml"), []byte(`apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: site}
spec: {storageClassName: manual, volumeName: site, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: gold}
value: 1000
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: site}
spec: {storageClassName: manual, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: `+data+`}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	a.prints("all containers are ready")
	links, err := filepath.Glob(filepath.Join(dir, "root/pods/*/volumes/*/d/index.html"))
	if err != nil || len(links) != 1 {
		t.Errorf("the volume of the pod is not %s: %v, %v", data, links, err)
	}
	a.interrupts <- syscall.SIGTERM
	a.ends(0, time.Minute)
}
