package twin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/testkit/testutil"
)

// node is a kubelet or a podctl on a simulated runtime, of which all calls are recorded.
type node struct {
	static string // directory of the manifests
	calls  string // file of the trace
	log    string // file of the node's log
	events func(t *testing.T) []Event
	pods   func() ([]v1.Pod, error)
	kill   func()
	start  func()
	names  []string // for strings.NewReplacer: a path of this node, the name that both have for it
	end    func()   // ends the trace
}

// startKubelet starts a kubelet on podctl sim with the rules.
func startKubelet(t *testing.T, dir, podctl string, rules []string) *node {
	t.Helper()
	t.Setenv("PODCTL_DEV_SIM_RULES", rulesFile(t, dir, rules, suffix))
	k := live.StartKubeletOf(t, live.KubeletSimKind, "--max-pods=1000", "--registry-qps=0", "--v=3", "--hostname-override="+strings.TrimPrefix(suffix, "-"), "--node-ip=127.0.0.1")
	calls := filepath.Join(dir, "kubelet.calls")
	tracing := command(t, filepath.Join(dir, "kubelet.trace.log"), podctl, "-r", k.Runtime.Endpoint, "--run-dir", filepath.Join(dir, "tracerun"), "trace", "--attach", "--show-secrets", "-o", "json", "--write", calls)
	lib := filepath.Dir(k.Root)
	client := &http.Client{Timeout: 20 * time.Second}
	return &node{
		static: k.Static, calls: calls,
		pods:   func() ([]v1.Pod, error) { return getPods(client, k.ReadOnly+"/pods") },
		kill:   func() { k.Kill(t) },
		start:  func() { k.Launch(t) },
		events: func(t *testing.T) []Event { return klogEvents(t, filepath.Join(lib, "kubelet.log")) },
		log:    filepath.Join(lib, "kubelet.log"),
		names:  []string{k.Root, "<root>", filepath.Join(lib, "pod-logs"), "<logs>"},
		end:    func() { stop(t, tracing) },
	}
}

// startPodctl starts an agent on podctl sim with the rules, in a network of its own: both
// runtimes give their pods the same addresses.
func startPodctl(t *testing.T, dir, podctl string, rules []string) *node {
	t.Helper()
	socket, traced := filepath.Join(dir, "sim.sock"), filepath.Join(dir, "trace.sock")
	n := &node{static: filepath.Join(dir, "manifests"), calls: filepath.Join(dir, "podctl.calls")}
	if err := os.MkdirAll(n.static, 0o700); err != nil {
		t.Fatal(err)
	}
	sim := command(t, filepath.Join(dir, "sim.log"), "unshare", "--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh",
		podctl, "sim", "--listen", socket, "--loopback", "--rules", rulesFile(t, dir, rules, ""))
	waitFor(t, socket)
	tracing := command(t, filepath.Join(dir, "podctl.trace.log"), podctl, "-r", "unix://"+socket, "trace", "--listen", traced, "--show-secrets", "-o", "json", "--write", n.calls)
	waitFor(t, traced)
	root, logs, run := filepath.Join(dir, "root"), filepath.Join(dir, "logs"), filepath.Join(dir, "run")
	var agent *exec.Cmd
	agentLog := filepath.Join(dir, "agent.log")
	n.start = func() {
		agent = command(t, agentLog, "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", sim.Process.Pid), "--",
			podctl, "-r", "unix://"+traced, "--root", root, "--log-dir", logs, "--run-dir", run, "--cgroup-root", "podctl-twin", "-o", "json",
			"agent", "--manifests", n.static)
	}
	n.kill = func() { _ = agent.Process.Kill(); _ = agent.Wait() }
	n.start()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		found, _ := filepath.Glob(filepath.Join(run, "*", "agent.sock"))
		if len(found) == 0 {
			return nil, os.ErrNotExist
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", found[0])
	}
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	n.pods = func() ([]v1.Pod, error) { return getPods(client, "http://podctl/pods") }
	n.events = func(t *testing.T) []Event { return agentEvents(t, agentLog) }
	n.log = agentLog
	n.names = []string{root, "<root>", logs, "<logs>"}
	n.end = func() { stop(t, tracing) }
	t.Cleanup(func() { n.clear(); stop(t, agent) })
	if !testutil.Poll(live.Timeout, func() bool { _, err := n.pods(); return err == nil }) {
		t.Fatal("the agent does not answer")
	}
	return n
}

// clear removes all manifests, and waits until the pods have gone.
func (n *node) clear() {
	manifests, _ := filepath.Glob(filepath.Join(n.static, "*"))
	for _, file := range manifests {
		_ = os.Remove(file)
	}
	testutil.Poll(live.Timeout, func() bool { pods, err := n.pods(); return err == nil && len(pods) == 0 })
}

// suffix is what the kubelet appends to the names of its pods.
const suffix = "-twin"

// rulesFile writes the rules, with what the node appends to names of pods.
func rulesFile(t *testing.T, dir string, rules []string, suffix string) string {
	t.Helper()
	list := []map[string]string{}
	for _, rule := range rules {
		object := map[string]string{}
		for word := range strings.FieldsSeq(rule) {
			key, value, _ := strings.Cut(word, "=")
			if key == "pod" {
				value += suffix
			}
			object[key] = value
		}
		list = append(list, object)
	}
	text, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "rules"+suffix+".yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// command starts a program, which ends with the test; what it writes is in a file.
func command(t *testing.T, log string, words ...string) *exec.Cmd {
	t.Helper()
	out, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, cmd) })
	return cmd
}

// stop ends a command with SIGTERM, and waits for it.
func stop(t *testing.T, cmd *exec.Cmd) {
	if cmd.ProcessState != nil {
		return
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	killed := time.AfterFunc(live.Timeout, func() { _ = cmd.Process.Kill() })
	defer killed.Stop()
	_ = cmd.Wait()
}

func waitFor(t *testing.T, file string) {
	t.Helper()
	if !testutil.Poll(live.Timeout, func() bool { _, err := os.Stat(file); return err == nil }) {
		t.Fatalf("no %s", file)
	}
}

func getPods(client *http.Client, url string) ([]v1.Pod, error) {
	resp, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var list v1.PodList
	err = json.NewDecoder(resp.Body).Decode(&list)
	return list.Items, err
}

// readCalls reads what podctl trace wrote.
func readCalls(t *testing.T, file string) []trace.Data {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var calls []trace.Data
	for decoder := json.NewDecoder(f); decoder.More(); {
		var c trace.Data
		if err := decoder.Decode(&c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		calls = append(calls, c)
	}
	return calls
}

var klogEvent = regexp.MustCompile(`^I(\d{4} [0-9:.]*) .* "Event occurred" object="default/([^"]*)" fieldPath="([^"]*)".* reason="([^"]*)"`)

// exited is in the event of a probe, unhealthy, that comes while its container ends: the two see that
// at different times.
const exited, unhealthy = "container is in CONTAINER_EXITED state", "Unhealthy"

// klogEvents reads the events in a kubelet's log, whose times have no year.
func klogEvents(t *testing.T, file string) []Event {
	t.Helper()
	return lines(t, file, func(line []byte) *Event {
		m := klogEvent.FindSubmatch(line)
		if m == nil || string(m[4]) == unhealthy && strings.Contains(string(line), exited) {
			return nil
		}
		at, err := time.ParseInLocation("20060102 15:04:05.999999", time.Now().Format("2006")+string(m[1]), time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return &Event{At: at, Pod: strings.TrimSuffix(string(m[2]), suffix), Container: containerOf(string(m[3])), Reason: string(m[4])}
	})
}

func containerOf(fieldPath string) string {
	_, name, _ := strings.Cut(fieldPath, "{")
	return strings.TrimSuffix(name, "}")
}

// agentEvents reads the events that podctl agent -o json prints.
func agentEvents(t *testing.T, file string) []Event {
	t.Helper()
	return lines(t, file, func(line []byte) *Event {
		var e struct {
			Time                                   time.Time
			Type, Name, Container, Reason, Message string
		}
		if json.Unmarshal(line, &e) != nil || e.Type != "event" || e.Name == "" || e.Reason == unhealthy && strings.Contains(e.Message, exited) {
			return nil
		}
		return &Event{At: e.Time, Pod: e.Name, Container: e.Container, Reason: e.Reason}
	})
}

func lines(t *testing.T, file string, read func(line []byte) *Event) []Event {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	for line := range bytes.Lines(text) {
		if e := read(line); e != nil {
			events = append(events, *e)
		}
	}
	return events
}
