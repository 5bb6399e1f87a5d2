package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/test/live"
)

// A recording of a node with pods that do not end says elsewhere what the node's own commands
// said.
func TestRecordingSaysElsewhereWhatTheNodeSaid(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		const grace = "terminationGracePeriodSeconds: 300"
		a := withAgent(t, rt)
		// Two runtimes with one manifest have pods of one UID, and describe takes the cgroup of either.
		web, crash, deaf, frozen := "web-"+rt.Kind, "crash-"+rt.Kind, "deaf-"+rt.Kind, "frozen-"+rt.Kind
		env := func(yaml string) string {
			return strings.Replace(yaml, "    command:", "    env: [{name: API_TOKEN, value: planted-in-variable}]\n    command:", 1)
		}
		a.put("web.yaml", env(pod(web, server, brief)))
		a.put("crash.yaml", pod(crash, "echo bye; exit 3", brief, "restartPolicy: Never"))
		a.put("deaf.yaml", env(pod(deaf, `trap "" TERM; echo up; `+forever, grace)))
		a.put("frozen.yaml", pod(frozen, server, grace))
		agent := a.agent()
		eventually(t, "the pods run", func() bool { return strings.Count(a.does("pods"), " Running ") == 3 }, func() string { return a.does("pods") })
		pid := a.processOf(frozen)
		file, thawed := live.Freeze(t, pid)
		a.remove("deaf.yaml")
		a.remove("frozen.yaml")
		eventually(t, "two pods are stuck", func() bool {
			found := a.terminating(a.podctl)
			return found[deaf].Layer == "process" && found[frozen].Layer == "cgroup" && strings.Contains(a.does("pods", crash), "Error")
		}, func() string { return a.does("terminating") + a.does("pods") })

		recorded := a.path("node.tape")
		out, errw, code := a.podctl("record", recorded)
		if code != 0 || errw != "" {
			t.Fatalf("exit code %d\n%s%s", code, out, errw)
		}
		t.Logf("\n%s", out)
		elsewhere := func(args ...string) (string, string, int) {
			t.Helper()
			cmd := exec.Command(binary, append([]string{"-r", "tape:" + recorded, "--root", "/nowhere", "--run-dir", "/nowhere", "--log-dir", "/nowhere"}, args...)...)
			cmd.Dir = t.TempDir()
			var out, errw bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errw
			_ = cmd.Run() // the exit code tells
			return out.String(), errw.String(), cmd.ProcessState.ExitCode()
		}
		for _, args := range []string{
			"pods -o json", "ps -a -o json", "images -o json", "inspect -o json " + web, "inspect -o json " + frozen, "terminating -o json", "starting -o json", "orphans -o json", "describe -o json " + web, "describe -o json " + frozen,
		} {
			there, _, thereCode := a.podctl(strings.Fields(args)...)
			here, said, code := elsewhere(strings.Fields(args)...)
			if diff := cmp.Diff(unchanging(t, there), unchanging(t, here)); diff != "" || code != thereCode {
				t.Errorf("podctl %s, on the node -, in the recording +, exit code %d, %d: %s\n%s", args, thereCode, code, diff, said)
			}
			if strings.Contains(here, "planted") {
				t.Errorf("podctl %s shows a secret", args)
			}
		}
		page, _, _ := elsewhere("describe", frozen)
		t.Logf("\n%s", page)
		if !strings.Contains(page, "is frozen by the cgroup /sys/fs/cgroup/") || !strings.Contains(page, "not recorded") {
			t.Errorf("describe:\n%s", page)
		}
		out, _, _ = elsewhere("terminating")
		t.Logf("\n%s", out)
		if _, errw, code := elsewhere("rm", deaf); code != 1 || !strings.Contains(errw, "is a recording") {
			t.Errorf("rm: %d, %s", code, errw)
		}

		if err := os.WriteFile(file, []byte(thawed), 0); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(a.processOf(deaf), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		a.remove("web.yaml")
		a.remove("crash.yaml")
		a.holds()
		// The recording does not change.
		if out, _, _ := elsewhere("terminating"); !strings.Contains(out, "default/"+deaf) {
			t.Errorf("terminating:\n%s", out)
		}
		agent.ends(syscall.SIGTERM, 0)
	})
}

// processOf returns the first process of a pod's container.
func (a *agentPlace) processOf(name string) int {
	a.t.Helper()
	pods, err := a.client.ListPods(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range pods {
		if p.Name == name && len(p.Containers) > 0 {
			c, err := a.client.ContainerProcess(a.t.Context(), p.Containers[0].ID)
			if err != nil {
				a.t.Fatal(err)
			}
			if _, err := proc.Default.Read(c.PID); err != nil {
				a.t.Fatal(err)
			}
			return c.PID
		}
	}
	a.t.Fatalf("no pod %s", name)
	return 0
}

// moving are fields that change while a pod waits, or that a recording does not have: what is
// used, how long a call takes, events and logs.
var moving = []string{
	"graceLeftSeconds", "workingSetBytes", "memoryPeakBytes", "memoryLimitHits", "cpuPeriods", "cpuThrottledPeriods", "swapBytes", "pids", "psi",
	"events", "logLines", "unread", "worker", "wchan", "state",
}

// unchanging returns JSON without what differs between two looks at one node.
func unchanging(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Errorf("%v:\n%s", err, text)
	}
	var without func(v any)
	without = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				if slices.Contains(moving, key) {
					delete(v, key)
				}
				without(inner)
			}
		case []any:
			for _, inner := range v {
				without(inner)
			}
		}
	}
	without(v)
	return v
}
