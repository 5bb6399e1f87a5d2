package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live"
)

// Pods are created, replaced and removed with their manifests; an invalid manifest,
// and a directory that is gone, change nothing.
func TestAgentFollowsManifests(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.put("web.yaml", a.marking("web", "1"))
		agent := a.agent("--drain")
		a.wrote("web", "up1")
		a.put("api.yaml", a.marking("api", "1"))
		a.wrote("api", "up1")
		a.put("web.yaml", a.marking("web", "2"))
		a.wrote("web", "up1", "down1", "up2")
		before := a.sandboxes()

		a.put("web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {}\n")
		agent.prints("web.yaml:4: pod \"web\": spec.containers: Required value")
		if err := os.Rename(a.path("manifests"), a.path("away")); err != nil {
			t.Fatal(err)
		}
		agent.prints("no such file or directory")
		if err := os.Mkdir(a.path("manifests"), 0o755); err != nil {
			t.Fatal(err)
		}
		agent.prints("the directory was replaced by an empty one")
		if err := os.Remove(a.path("manifests")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(a.path("away"), a.path("manifests")); err != nil {
			t.Fatal(err)
		}
		agent.prints("is read again")
		a.remove("api.yaml")
		a.wrote("api", "up1", "down1")
		a.holds("web")
		if after := a.sandboxes(); after["web"] != before["web"] {
			t.Errorf("web's sandbox was %s and is %s", before["web"], after["web"])
		}
		agent.ends(syscall.SIGTERM, 0)
		a.has("web", "up1", "down1", "up2", "down2")
	})
}

// An agent that is killed or stopped leaves its pods; the next one adopts them as
// they are. Only one agent runs at a time; a run beside it has its own pods.
func TestRestartedAgentAdoptsPods(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.put("web.yaml", a.marking("web", "1"))
		a.put("job.yaml", a.marked("job", "echo ran >> /mark/job", never))
		first := a.agent()
		a.wrote("web", "up1")
		a.wrote("job", "ran")
		before := a.sandboxes()["web"]

		second := a.agent()
		if code := second.wait(); code != 1 {
			t.Errorf("a second agent: exit %d", code)
		}
		if _, errw := second.output(); !strings.Contains(errw, fmt.Sprintf("pid %d", first.cmd.Process.Pid)) {
			t.Errorf("the second agent does not say who has the runtime: %s", errw)
		}
		beside := a.start(a.marking("mine", "1"), "-")
		a.wrote("mine", "up1")

		first.ends(syscall.SIGKILL, -1)
		// No agent runs when one manifest becomes invalid.
		a.put("web.yaml", "kind: Pod\napiVersion: v1\nmetadata: {name: web}\n")
		third := a.agent()
		third.prints("the runtime already holds the pod: it continues")
		a.put("web.yaml", a.marking("web", "1"))
		third.prints("is valid again")
		third.ends(syscall.SIGTERM, 0)
		fourth := a.agent("--drain")
		fourth.prints("the runtime already holds the pod: it continues")
		if after := a.sandboxes()["web"]; after != before {
			t.Errorf("web's sandbox was %s and is %s", before, after)
		}
		a.has("web", "up1")
		a.has("job", "ran")
		a.has("mine", "up1")
		a.remove("job.yaml")
		a.holds("mine", "web")
		beside.ends(syscall.SIGTERM, 130)
		a.has("mine", "up1", "down1")
		fourth.ends(syscall.SIGTERM, 0)
		a.has("web", "up1", "down1")
	})
}

// When an agent is killed while it terminates a pod whose manifest is gone, the
// next one finishes that with the rest of the grace period, hooks included.
func TestAgentKilledDuringTermination(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.proxied()
		a.put("slow.yaml", a.marked("slow", `trap "echo down >> /mark/slow" TERM; echo up >> /mark/slow; `+forever, "terminationGracePeriodSeconds: 6"))
		first := a.agent()
		a.wrote("slow", "up")
		a.remove("slow.yaml")
		a.wrote("slow", "up", "down")
		begin := time.Now()
		<-time.After(2 * time.Second) // of its grace
		first.ends(syscall.SIGKILL, -1)
		again := a.agent("--drain")
		a.holds()
		if took := time.Since(begin); took < 4*time.Second {
			t.Errorf("it ended %s after it was told to: its grace is 6s", took)
		}
		var graces []int64
		for _, c := range a.proxy.Calls() {
			if c.Method == "StopContainer" {
				req := &runtimeapi.StopContainerRequest{}
				a.decode(c.Request, req)
				graces = append(graces, req.Timeout)
			}
		}
		if len(graces) < 2 || graces[0] != 6 || graces[1] > 4 {
			t.Errorf("the agents gave it %d s, want 6 and then what remains of them", graces)
		}
		again.ends(syscall.SIGTERM, 0)
		if got := a.marks("slow"); len(got) > 3 {
			t.Errorf("containers wrote %q", got)
		}
	})
}

// An observer reports the pods of others in events and metrics, and changes
// nothing.
func TestAgentObserves(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		if err := l.Close(); err != nil { // free for the observer
			t.Fatal(err)
		}
		flags := append(a.flags(), "agent", "--observe", "--listen", address)
		observer := a.command("", exec.Command(binary, flags...))
		observer.prints("EVENT")
		run := a.start(a.marking("web", "1"), "-")
		a.wrote("web", "up1")
		observer.prints("ContainerStarted")
		eventually(t, "metrics count the pod", func() bool {
			return strings.Contains(get(t, "http://"+address+"/metrics"), "\npodctl_running_pods 1\n")
		}, func() string { return get(t, "http://"+address+"/metrics") })
		if body := get(t, "http://"+address+"/healthz"); body != "ok" {
			t.Errorf("health: %q", body)
		}
		run.ends(syscall.SIGTERM, 130)
		observer.prints("ContainerDied")
		observer.ends(syscall.SIGTERM, 0)
	})
}
