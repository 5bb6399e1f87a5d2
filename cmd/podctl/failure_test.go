package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/render"
	"github.com/podctl/podctl/internal/worker"
)

// verdictOf is what a run of one pod ends with, as the screen shows it.
func verdictOf(logs string, wait string, i node.Info) string {
	r := &running{
		opts: runOptions{wait: wait}, want: []node.Desired{{Pod: i.Pod}},
		session: &daemon.Session{Facts: &render.Node{LogDir: logs}},
		last:    map[types.UID]node.Info{i.Pod.UID: i},
	}
	var b strings.Builder
	printError(&b, r.verdict(r.failures(), nil))
	return b.String()
}

func TestAFailedPodTellsWhy(t *testing.T) {
	never := ended("web", 128, "StartError", `exec: "/no/such": no such file`)
	never.State.Terminated.StartedAt = metav1.Time{}
	for _, c := range []struct {
		name   string
		change func(*node.Info)
		want   []string
	}{
		{"exit code", func(i *node.Info) { setContainers(i, ended("web", 3, "Error", ""), runs("cache")) },
			[]string{"  default/web/web exited 3"}},
		{"each container", func(i *node.Info) {
			setContainers(i, ended("web", 137, "OOMKilled", ""), ended("cache", 1, "Error", ""))
		},
			[]string{"  default/web/web exited 137, OOMKilled", "  default/web/cache exited 1"}},
		{"a process that never was", func(i *node.Info) { setContainers(i, never) },
			[]string{`  default/web/web exited 128, StartError: exec: "/no/such": no such file`}},
		{"image", func(i *node.Info) { setContainers(i, waits("web", "ErrImagePull", "not found"), runs("cache")) },
			[]string{"  default/web/web: ErrImagePull: not found"}},
		{"back-off", func(i *node.Info) {
			c := waits("web", "CrashLoopBackOff", "back-off 20s")
			c.LastTerminationState = ended("", 7, "Error", "").State
			setContainers(i, c)
		}, []string{"  default/web/web: CrashLoopBackOff: back-off 20s (last exit 7)"}},
		{"the pod's reason comes first", func(i *node.Info) {
			i.Status.Reason, i.Status.Message = "DeadlineExceeded", "was active too long"
			setContainers(i, ended("web", 137, "Error", ""))
		}, []string{"  default/web: DeadlineExceeded: was active too long", "  default/web/web exited 137"}},
		{"an error in between", func(i *node.Info) {
			i.LastError.Text = "network is not ready"
			setContainers(i, waits("web", "ContainerCreating", ""))
		}, []string{"  default/web: network is not ready"}},
		{"nothing else to say", func(i *node.Info) { i.Stage = worker.Terminating }, []string{"  default/web is terminating"}},
		{"rejected, with the way out", func(i *node.Info) { i.Rejected = &usageError{message: "name is taken", hint: "rename it"} },
			[]string{"  default/web: name is taken", "  hint: rename it"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Join(append([]string{"podctl: 1 of 1 pods failed"}, c.want...), "\n") + "\n"
			if got := verdictOf(t.TempDir(), waitComplete, web(c.change)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestWhatIsNoFailure(t *testing.T) {
	ready := []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	for _, c := range []struct {
		name, wait string
		change     func(*node.Info)
	}{
		{"success", waitComplete, func(i *node.Info) { i.Status.Phase = v1.PodSucceeded }},
		{"success is better than ready", waitReady, func(i *node.Info) { i.Status.Phase = v1.PodSucceeded }},
		{"ready", waitReady, func(i *node.Info) { i.Status.Conditions = ready }},
	} {
		if got := verdictOf(t.TempDir(), c.wait, web(c.change)); got != "" {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if got := verdictOf(t.TempDir(), waitComplete, web(func(i *node.Info) { i.Status.Conditions = ready })); got == "" {
		t.Error("ready, but completion was waited for: no failure")
	}
}

// The log is of the attempt that failed.
func TestAFailureShowsTheLastLinesOfItsAttempt(t *testing.T) {
	logs := t.TempDir()
	dir := filepath.Join(logs, "default_web_u1", "web")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"0.log": "old", "1.log": "new \x1b[2J"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("2026-03-01T12:00:00.0Z stdout F "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := verdictOf(logs, waitComplete, web(func(i *node.Info) {
		c := ended("web", 1, "Error", "")
		c.RestartCount = 1
		setContainers(i, c)
	}))
	want := "podctl: 1 of 1 pods failed\n  default/web/web exited 1; its last lines:\n  > new �[2J\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK}, {errors.New("anything"), exitFailed}, {&runError{}, exitFailed}, {usagef("wrong"), exitUsage},
		{cri.ErrUnavailable, exitUnreachable}, {cri.ErrPermission, exitUnreachable}, {cri.ErrNotCRI, exitUnreachable},
		{cri.ErrNotFound, exitFailed}, {errInterrupted, exitInterrupted}, {&leftError{pods: 1}, exitInterrupted},
	} {
		if got := exitCode(errors.Join(c.err)); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}
