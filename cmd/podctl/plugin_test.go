package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/testkit/clustertest"
	"github.com/podctl/podctl/testkit/simpod"
)

func TestTheTablesOfNodesAreOneTable(t *testing.T) {
	k := onCluster(t, clustertest.Options{Nodes: nodesOf(map[string]func(*clustertest.Session) int{
		"n2": prints(0, list("default/web", "default/db"), ""), "n1": prints(0, list("kube-system/dns"), "warning: slow\n"), "n3": prints(0, list(), ""),
	})})
	code, out, errw := k.podctl("--all-nodes", "terminating")
	want := "NODE  POD              SINCE\nn1    kube-system/dns  3m\nn2    default/web      3m\nn2    default/db       3m\n"
	if code != 0 || out != want || errw != "n1: warning: slow\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errw)
	}
	code, out, _ = k.podctl("terminating", "--all-nodes", "-o", "json", "--sort-by", ".metadata.name")
	var items []struct {
		Node     string
		Metadata struct{ Name string }
	}
	if err := json.Unmarshal([]byte(out), &items); code != 0 || err != nil || len(items) != 3 || items[0].Node != "n2" || items[0].Metadata.Name != "default/db" {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
	if _, out, _ = k.podctl("--node", "n3,n2", "terminating", "-o", "name"); out != "n2 default/web\nn2 default/db\n" {
		t.Error(out)
	}
	if _, out, _ = k.podctl("--node", "n2", "terminating", "--no-headers", "-o", "custom-columns=N:.node,P:.metadata.name"); !strings.HasPrefix(out, "n2") {
		t.Error(out)
	}
}

// What the user types reaches the nodes as it was, without the plugin's flags and those of
// the list.
func TestTheCommandReachesTheNodeAsItWasTyped(t *testing.T) {
	var mu sync.Mutex
	var args [][]string
	k := onCluster(t, clustertest.Options{Nodes: []clustertest.Node{{Name: "n1", Labels: map[string]string{"pool": "a"}, Run: func(s *clustertest.Session) int {
		mu.Lock()
		defer mu.Unlock()
		args = append(args, s.Args)
		_, _ = io.WriteString(s.Stdout, list())
		return 0
	}}}})
	for line, want := range map[string]string{
		"--node n1 terminating -n web -o wide --sort-by .a": "podctl terminating -o cells -n web",
		"-l pool=a pods -l app=web x":                       "podctl pods -o cells -l app=web x",
		"--node n1 -r /cri top pods --sort-by cpu":          "podctl -r /cri top -o cells --sort-by cpu pods",
		"--node n1 orphans --kill --dry-run":                "podctl orphans --kill --dry-run",
		"--node n1 describe web":                            "podctl describe web",
		"--node n1 describe pid:1234 ip:fd00::1":            "podctl describe pid:1234 ip:fd00::1",
		"--node n1 exec web -- sh -c $(id);`id`":            "podctl exec web -- sh -c $(id);`id`",
		"--node n1 --node-timeout 5s pleg check -o json":    "podctl pleg check -o json",
		"--node n1 version":                                 "podctl version",
		"--node n1 orphans --kubeconfig /c --node cloud-n1": "podctl orphans -o cells --kubeconfig /c --node cloud-n1",
		"--node n1 ls -Aojson":                              "podctl pods -o cells -A",
	} {
		args = nil
		if code, out, errw := k.podctl(strings.Fields(line)...); code != 0 || len(args) != 1 || strings.Join(args[0], " ") != want {
			t.Errorf("%s: exit code %d, %q, want %s\n%s%s", line, code, args, want, out, errw)
		}
	}
}

// Manifests are files of this machine, as kubectl's are: every node reads the pods from
// its standard input, in the order in which they arrive.
func TestManifestsAreReadOnThisMachine(t *testing.T) {
	reads := func(s *clustertest.Session) int {
		pods, err := manifest.Load(s.Context, []string{"-"}, manifest.LoadOptions{Stdin: s.Stdin, ForCluster: true})
		if err != nil {
			return 9
		}
		fmt.Fprint(s.Stdout, strings.Join(s.Args, " "))
		for _, p := range pods.Pods {
			fmt.Fprint(s.Stdout, " ", p.Name)
		}
		fmt.Fprintln(s.Stdout)
		return 1
	}
	k := onCluster(t, clustertest.Options{Nodes: nodesOf(map[string]func(*clustertest.Session) int{"n1": reads, "n2": reads})})
	w := &world{t: t, dir: t.TempDir()}
	dns, next := w.file("dns.yaml", needing("dns", "1m", criticalClass)), w.file("next.yaml", needing("next", "1m", ""))
	const one = "podctl preempt -f - --dry-run"
	for line, want := range map[string]string{
		"--all-nodes preempt --dry-run -f " + dns + " --what-if " + next:    "n1: " + one + " dns next\nn2: " + one + " dns next\n",
		"--node n1 preempt --what-if=" + next + " -f " + dns + " --dry-run": one + " dns next\n",
		"--node n2 preempt --filename - --dry-run":                          one + " typed\n",
	} {
		if code, out, errw := k.typed(strings.NewReader(needing("typed", "1m", "")), strings.Fields(line)...); code != 1 || out != want || errw != "" {
			t.Errorf("%s: exit code %d\n%s%s", line, code, out, errw)
		}
	}
	asked := len(k.server.Requests())
	if code, _, errw := k.podctl("--all-nodes", "preempt", "--dry-run", "-f", w.file("bad.yaml", "kind: Pod\n")); code != 1 || !strings.Contains(errw, "bad.yaml:1") || len(k.server.Requests()) > asked {
		t.Errorf("exit code %d, %q: %s", code, k.server.Requests()[asked:], errw)
	}
}

func TestHelpOfThePluginIsAboutNodes(t *testing.T) {
	k := onCluster(t, clustertest.Options{})
	code, out, errw := k.podctl("--help")
	if code != 0 || errw != "" || !strings.Contains(out, "kubectl podctl --all-nodes terminating") {
		t.Errorf("exit code %d\n%s%s", code, out, errw)
	}
	for name, listed := range map[string]bool{"run": false, "agent": false, "cp": false, "terminating": true, "preempt": true, "validate": true} {
		if strings.Contains(out, "\n   "+name+" ") != listed {
			t.Errorf("the command %s is listed: %v, want %v", name, !listed, listed)
		}
	}
}

func TestWrongCommandLinesOfThePluginExit2(t *testing.T) {
	k := onCluster(t, clustertest.Options{Nodes: []clustertest.Node{{Name: "n1"}, {Name: "n2"}}})
	for line, want := range map[string]string{
		"pods":                       "no node is selected",
		"orphans --node n1":          "no node is selected",
		"--node n1 --all-nodes pods": "exclude each other",
		"--node n1,x/../y pods":      "not a name of a node",
		"-l a=(b pods":               "--node-selector",
		"--node n1 --inspector-namespace a/b pods":   "not a name of a namespace",
		"--node n1 --node-timeout -1s pods":          "--node-timeout",
		"--node n1 run -":                            "one machine",
		"cp a b:c":                                   "one machine",
		"--node n1 validate x":                       "files of this machine",
		"--all-nodes logs -f web":                    "a single one",
		"--all-nodes exec -it web -- sh":             "a single one",
		"-n web pods":                                "--inspector-namespace",
		"--node n1 pods -o nonsense":                 "unknown output format",
		"--node n1 terminating --sort-by {.metadata": "--sort-by",
	} {
		if code, _, errw := k.podctl(strings.Fields(line)...); line != "--all-nodes logs -f web" && line != "--all-nodes exec -it web -- sh" && len(k.server.Requests()) > 4 || code != 2 || !strings.Contains(errw, want) {
			t.Errorf("%s: exit code %d: %s", line, code, errw)
		}
	}
}

// Whatever a node does, the others' answers are printed, each of its own node, and the
// node is named.
func TestNodesThatDoNotAnswerAreNamed(t *testing.T) {
	evil := `{"cellsVersion":1,"header":["POD","SINCE"],"items":[{"name":"x\nn1 y","cells":["\u001b[2J\nn1  default/fake","now"],"notes":["n1    default/fake"],"data":{"node":"n1","Node":"n1"}}]}`
	nodes := nodesOf(map[string]func(*clustertest.Session) int{
		"n1": prints(0, list("default/web"), ""), "n2": prints(1, list("default/db"), ""), "endless": printsOn, "evil": prints(0, evil, "\x1b]0;title\x07"),
		"failed": prints(2, "", "podctl: terminating: unknown output format \"cells\"\n  hint: x\n"), "hangs": hangs(list("default/half")),
		"invalid": prints(0, "<html>", ""), "lost": func(s *clustertest.Session) int { s.Lost = true; return 0 },
	})
	nodes = append(nodes, clustertest.Node{Name: "bare", NoInspector: true}, clustertest.Node{Name: "waiting", NotReady: true})
	k := onCluster(t, clustertest.Options{Nodes: nodes})
	code, out, errw := k.podctl("--all-nodes", "--node-timeout", "8s", "terminating")
	if code != 3 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"no answer from bare: NoInspector: ", "no answer from waiting: NotReady: ", "no answer from endless: TooLarge: ", "no answer from hangs: TimedOut: no answer within 8s",
		"no answer from invalid: InvalidAnswer: ", "no answer from lost: Unreachable: ", `no answer from failed: CommandFailed: podctl: terminating: unknown output format "cells"`,
		"podctl: 7 of 10 nodes did not answer",
	} {
		if !strings.Contains(errw, want) {
			t.Errorf("stderr has no %q:\n%s", want, errw)
		}
	}
	if strings.ContainsAny(out+errw, "\x1b\x07") {
		t.Errorf("control characters: %q %q", out, errw)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "n1 ") && !strings.Contains(line, "default/web") {
			t.Errorf("another node speaks for n1: %s", line)
		}
	}
	code, out, _ = k.podctl("--all-nodes", "--node-timeout", "8s", "terminating", "-o", "json")
	var items []struct {
		Node      string
		NodeError struct {
			Reason   string
			ExitCode int
		}
	}
	if err := json.Unmarshal([]byte(out), &items); code != 3 || err != nil || len(items) != 10 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	reasons := map[string]string{}
	for _, i := range items {
		reasons[i.Node] += i.NodeError.Reason
	}
	if len(reasons) != 10 || reasons["n1"] != "" || reasons["n2"] != "" || reasons["failed"] != "CommandFailed" || reasons["bare"] != "NoInspector" {
		t.Errorf("%v", reasons)
	}
}

func TestOtherCommandsHaveTheNodeBeforeEachLine(t *testing.T) {
	k := onCluster(t, clustertest.Options{Nodes: nodesOf(map[string]func(*clustertest.Session) int{
		"n1": prints(0, "Name: web\nnode: \x1b[2J\n", ""), "n2": prints(1, "", "podctl: describe: no pod \"web\"\n"),
	})})
	code, out, errw := k.podctl("--all-nodes", "describe", "web")
	if code != 1 || out != "n1: Name: web\nn1: node: �[2J\n" || errw != "n2: podctl: describe: no pod \"web\"\n" {
		t.Errorf("exit code %d\n%q\n%q", code, out, errw)
	}
	k = onCluster(t, clustertest.Options{Nodes: nodesOf(map[string]func(*clustertest.Session) int{
		"n1": prints(0, `{"healthy":true,"node":"x"}`, ""), "n2": prints(0, "{\"healthy\":1}\n[2]\n", ""),
	})})
	code, out, _ = k.podctl("--all-nodes", "pleg", "check", "-o", "json")
	var items []map[string]any
	if err := json.Unmarshal([]byte(out), &items); err != nil || code != 0 || len(items) != 3 || items[0]["node"] != "n1" || items[2]["value"] != 2.0 {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
}

func TestASingleNodeIsStreamed(t *testing.T) {
	k := onCluster(t, clustertest.Options{Nodes: []clustertest.Node{{Name: "n1", Run: func(s *clustertest.Session) int {
		in, _ := io.ReadAll(s.Stdin)
		_, _ = s.Stdout.Write(append(in, 0, 0xff))
		_, _ = io.WriteString(s.Stderr, "\x1b[2J")
		return 7
	}}, {Name: "n2", NotReady: true}}})
	code, out, errw := k.typed(strings.NewReader("typed"), "--node", "n1", "exec", "-i", "web", "--", "cat")
	if code != 7 || out != "typed\x00\xff" || errw != "�[2J" {
		t.Errorf("exit code %d, %q, %q", code, out, errw)
	}
	if code, _, errw := k.podctl("--node", "n2", "logs", "web"); code != 3 || !strings.Contains(errw, "pod inspector-n2 is not ready") {
		t.Errorf("exit code %d, %q", code, errw)
	}
	if code, _, errw := k.podctl("--node", "n9", "logs", "web"); code != 3 || !strings.Contains(errw, "no inspector pod on node n9") {
		t.Errorf("exit code %d, %q", code, errw)
	}
}

// The command runs on 50 nodes at the same time: on the last of 51 once another one has
// answered. Ctrl-C ends it then with the answer that is there.
func TestCtrlCPrintsTheAnswersThatAreThere(t *testing.T) {
	var k *kubectl
	var others sync.WaitGroup
	var answered atomic.Bool
	nodes := []clustertest.Node{{Name: "n00", Run: func(s *clustertest.Session) int {
		others.Wait()
		answered.Store(true)
		return prints(0, list("default/web"), "")(s)
	}}}
	for i := range 49 {
		others.Add(1)
		nodes = append(nodes, clustertest.Node{Name: fmt.Sprintf("n%02d", i+1), Run: func(s *clustertest.Session) int {
			others.Done()
			return hangs("")(s)
		}})
	}
	nodes = append(nodes, clustertest.Node{Name: "n99", Run: func(s *clustertest.Session) int {
		if !answered.Load() {
			t.Error("the command runs on 51 nodes at the same time")
		}
		k.interrupts <- os.Interrupt
		return hangs("")(s)
	}})
	k = onCluster(t, clustertest.Options{Nodes: nodes})
	code, out, errw := k.podctl("--all-nodes", "terminating")
	if code != shell.ExitInterrupted || !strings.Contains(out, "n00   default/web") || strings.Count(errw, ": Interrupted: ") != 50 {
		t.Errorf("exit code %d\n%s%s", code, out, errw)
	}
}

// The command runs on 1,000 nodes, 50 at a time, some of which are dead or hostile.
func TestAThousandNodes(t *testing.T) {
	var nodes []clustertest.Node
	for i := range 1000 {
		n := clustertest.Node{Name: fmt.Sprintf("node-%04d", i), Run: prints(0, list(fmt.Sprintf("default/web-%d", i)), "")}
		switch i % 100 {
		case 7:
			n.NoInspector = true
		case 17:
			n.Run = printsOn
		case 27:
			n.Run = prints(1, "\x1b[2J", "failed\n")
		case 37:
			n.Run = func(s *clustertest.Session) int { s.Lost = true; return 0 }
		}
		nodes = append(nodes, n)
	}
	k := onCluster(t, clustertest.Options{Nodes: nodes})
	code, out, errw := k.podctl("--all-nodes", "terminating")
	if lines := strings.Count(out, "\n"); code != 3 || lines != 961 || !strings.Contains(errw, "podctl: 40 of 1000 nodes did not answer") {
		t.Errorf("exit code %d, %d lines\n%s", code, lines, errw)
	}
	if peak := k.server.Peak(); peak > 50 {
		t.Errorf("%d commands at the same time", peak)
	}
}

// The plugin prints what podctl itself prints on each node.
func TestThePluginPrintsWhatPodctlPrintsOnTheNode(t *testing.T) {
	var one sync.Mutex // the library keeps its flags in variables
	podctl := func(s *clustertest.Session) int {
		one.Lock()
		defer one.Unlock()
		level := &slog.LevelVar{}
		return runProgram(append([]string{"podctl", "-r", "sim:"}, s.Args[1:]...), &shell.Env{
			Out: s.Stdout, Errw: s.Stderr, Size: func() (int, int) { return 0, 0 }, Now: func() time.Time { return time.Now().Add(time.Minute) },
			Simulate: func() (*sim.Runtime, func()) {
				r := sim.New(sim.Options{})
				simpod.Run(t, r, "default", "empty")
				return r, r.Close
			},
			Procs: proc.FS(testutil.EmptyProc(t)), Log: slog.New(slog.DiscardHandler), Level: level,
		})
	}
	k := onCluster(t, clustertest.Options{Nodes: nodesOf(map[string]func(*clustertest.Session) int{"n1": podctl, "n2": podctl})})
	code, out, errw := k.podctl("--all-nodes", "images", "-o", "wide")
	if code != 0 || out != "" || errw != "nothing to list on 2 nodes\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errw)
	}
	code, out, errw = k.podctl("--all-nodes", "starting")
	if code != 0 || strings.Count(out, "default/empty") != 2 || strings.Count(out, "not known: nothing shows in its paths") != 2 {
		t.Errorf("exit code %d\n%s%s", code, out, errw)
	}
	code, out, errw = k.podctl("--all-nodes", "version", "-o", "json")
	if code != 0 || strings.Count(out, `"podctl"`) != 2 || errw != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errw)
	}
}

func TestKubectlCompletesTheWordsOfThePlugin(t *testing.T) {
	k := onCluster(t, clustertest.Options{Nodes: []clustertest.Node{{Name: "n1"}, {Name: "n2"}, {Name: "other"}}})
	for line, want := range map[string]string{
		"--kubeconfig " + k.config + " --node n": "n1\tnode\nn2\tnode\n:4\n",
		"termin":                                 "terminating\tlist terminating pods: what still runs, which layer is stuck, and the next command to try\n:4\n",
		"--kubeconfig x":                         ":0\n",
	} {
		var out, errw screen
		e := &shell.Env{Out: &out, Errw: &errw, Log: slog.New(slog.DiscardHandler), Level: &slog.LevelVar{}}
		if code := runProgram(append([]string{"kubectl_complete-podctl"}, strings.Fields(line)...), e); code != 0 || out.String() != want || errw.String() != "" {
			t.Errorf("%s: exit code %d\n%s%s", line, code, out.String(), errw.String())
		}
	}
}
