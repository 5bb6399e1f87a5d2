package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/test/live"
)

// restartable is a pod with a preStop hook. Its program takes a part of its grace period
// to end, and says what it was sent.
func (p *place) restartable(name string, more ...string) string {
	program := fmt.Sprintf(`cd /mark; trap "sleep 2; echo down >> %[1]s; exit 7" TERM; trap "echo hup >> %[1]s" HUP; echo up >> %[1]s; `+forever, name)
	hook := fmt.Sprintf(`lifecycle: {preStop: {exec: {command: [sh, -c, "echo hook >> /mark/%s; sleep 1"]}}}`, name)
	text := p.marked(name, program, append(more, "terminationGracePeriodSeconds: 20")...)
	return strings.Replace(text, "volumeMounts:", hook+"\n    volumeMounts:", 1)
}

// restartLine is the line of a restart.
func restartLine(container, by, oldAttempt, nextAttempt string) string {
	return fmt.Sprintf(`^%s restarted by %s: %s → %s, after [0-9.]+m?s\n$`, container, by, oldAttempt, nextAttempt)
}

// attempt is how an attempt is printed.
func attempt(number int, exit string) string {
	return fmt.Sprintf(`attempt %d \([0-9a-f]+%s\)`, number, exit)
}

// A container of podctl's own restarts in its sandbox: its hook runs once, it has its grace
// period, and a second request does not wait for a back-off.
func TestRestartInPlace(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.put("web.yaml", a.restartable("web"))
		a.put("once.yaml", a.marked("once", `echo up >> /mark/once; `+forever, brief, "restartPolicy: Never"))
		agent := a.agent("--drain")
		a.getsLines("once", "up")
		eventually(t, "both pods run", func() bool { return strings.Count(a.does("pods"), " Running ") == 2 }, func() string { return a.does("pods") })
		sandboxes := a.does("inspect", "web", "-o", "jsonpath={.sandbox.id}")
		for n := range 2 {
			matches(t, a.does("restart", "web/c"), restartLine("default/web/c", `podctl "agent"`, attempt(n, ", exit code 7"), attempt(n+1, "")))
		}
		a.getsLines("web", "up", "hook", "down", "up", "hook", "down", "up")
		a.does("exec", "web", "--", "kill", "-HUP", "1")
		a.getsLines("web", "up", "hook", "down", "up", "hook", "down", "up", "hup")
		if now := a.does("inspect", "web", "-o", "jsonpath={.sandbox.id}"); now != sandboxes {
			t.Errorf("the sandbox was %s, is %s", sandboxes, now)
		}
		matches(t, lineOf(a.does("pods"), "default/web"), `^default/web Running syncing agent 1/1 2 `)
		if _, errw, code := a.podctl("restart", "once"); code != 1 || !strings.Contains(errw, "restart default/once/c: restartPolicy Never does not start it again") {
			t.Errorf("exit %d: %s", code, errw)
		}
		a.has("once", "up")
		agent.ends(syscall.SIGTERM, 0)
	})
}

// A container of a kubelet's is stopped once, after its hook and with its grace period, and
// the kubelet starts it again by its own rules; what it would not start again is refused.
//
// As in TestBesideAKubelet, no other test runs beside it.
func TestRestartBesideAKubelet(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	k := startKubelet(t, strings.ToLower(host))
	add := func(name, manifest string) {
		k.kubelet.WriteStatic(t, name+".yaml", manifest)
		k.names = append(k.names, name)
	}
	add("hooked", k.restartable("hooked"))
	add("never", k.marked("never", "echo up >> /mark/never; "+forever, brief, "restartPolicy: Never"))
	add("onfailure", k.marked("onfailure", "echo up >> /mark/onfailure; "+forever, brief, "restartPolicy: OnFailure"))
	k.kubelet.Runs(t, k.names...)
	k.settles()
	k.getsLines("hooked", "up")
	full := "default/hooked" + k.node
	sandboxes := k.sandboxes()

	matches(t, k.does("restart", full+"/c"), restartLine(full+"/c", "its kubelet", attempt(0, ", exit code 7"), attempt(1, "")))
	k.getsLines("hooked", "up", "hook", "down", "up")
	eventually(t, "the kubelet counts one restart", func() bool { return k.restartCount("hooked") == 1 }, func() string { return k.does("pods") })

	k.does("exec", full, "--", "kill", "-HUP", "1")
	k.getsLines("hooked", "up", "hook", "down", "up", "hup")

	// The kubelet takes the next exit, within its back-off, for a crash.
	_, errw, code := k.podctl("restart", full, "--timeout", "3s")
	if code != 1 || !strings.Contains(errw, "attempt 1 was not followed by another within 3s: ") {
		t.Errorf("exit %d: %s", code, errw)
	}
	t.Logf("within the back-off: %s", errw)
	_, errw, code = k.podctl("restart", full+"/c")
	if code != 1 || !strings.Contains(errw, "its kubelet starts it again when its back-off ends") {
		t.Errorf("while it waits: exit %d: %s", code, errw)
	}
	k.getsLines("hooked", "up", "hook", "down", "up", "hup", "hook", "down", "up")
	eventually(t, "the kubelet counts two restarts", func() bool { return k.restartCount("hooked") == 2 }, func() string { return k.does("pods") })

	for name, want := range map[string]string{
		"never":     "/c: restartPolicy Never does not start it again",
		"onfailure": "/c: restartPolicy OnFailure starts it again with some exit codes only\n  hint: --force restarts it nevertheless",
	} {
		if out, errw, code := k.podctl("restart", "default/"+name+k.node); code != 1 || !strings.Contains(errw, want) {
			t.Errorf("%s: exit %d\n%s%s", name, code, out, errw)
		}
	}
	k.unharmed("refused restarts beside a kubelet that is frozen", func() {
		k.kubelet.Signal(t, syscall.SIGSTOP)
		defer k.kubelet.Signal(t, syscall.SIGCONT)
		if out, errw, code := k.podctl("restart", full); code != 1 || !strings.Contains(errw, "hint: --force restarts it without its preStop hook") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
	if now := k.sandboxes(); strings.Join(now, "\n") != strings.Join(sandboxes, "\n") {
		t.Errorf("the sandboxes were %q, are %q", sandboxes, now)
	}
}

// restartCount is that of the container of a pod, as the kubelet shows it; -1 unless it runs.
func (k *kubeletPlace) restartCount(name string) int32 {
	k.t.Helper()
	for _, p := range k.kubelet.Pods(k.t) {
		if p.Name == name+k.node && len(p.Status.ContainerStatuses) == 1 && p.Status.Phase == v1.PodRunning && p.Status.ContainerStatuses[0].State.Running != nil {
			return p.Status.ContainerStatuses[0].RestartCount
		}
	}
	return -1
}
