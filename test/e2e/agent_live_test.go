package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/test/live"
)

// agentPlace is a place with a directory of manifests.
type agentPlace struct {
	*place
	client *cri.Client
}

func withAgent(t *testing.T, rt *live.Instance) *agentPlace {
	t.Helper()
	a := &agentPlace{place: at(t, rt)}
	if err := os.Mkdir(a.path("manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if a.client, err = cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: rt.Endpoint}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.client.Close)
	return a
}

// agent starts one.
func (a *agentPlace) agent(args ...string) *process {
	a.t.Helper()
	return a.command("", exec.Command(binary, append(a.flags(), append([]string{"agent", "--manifests", a.path("manifests")}, args...)...)...))
}

// put writes a manifest as an editor does, in one step.
func (a *agentPlace) put(name, yaml string) {
	a.t.Helper()
	tmp := filepath.Join(a.path("manifests"), "."+name+".tmp")
	if err := os.WriteFile(tmp, []byte(yaml), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(a.path("manifests"), name)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agentPlace) remove(name string) {
	a.t.Helper()
	if err := os.Remove(filepath.Join(a.path("manifests"), name)); err != nil {
		a.t.Fatal(err)
	}
}

// sandboxes are the ready sandboxes' ids by the name of their pods.
func (a *agentPlace) sandboxes() map[string]string {
	a.t.Helper()
	pods, err := a.client.ListPods(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, p := range pods {
		if p.Running() {
			ids[p.Name] = p.Sandboxes[0].ID
		}
	}
	return ids
}

// has waits until containers have written these lines to /mark/NAME.
func (a *agentPlace) wrote(name string, lines ...string) {
	a.t.Helper()
	eventually(a.t, fmt.Sprintf("containers write %q to %s", lines, name),
		func() bool { return slices.Equal(a.marks(name), lines) },
		func() string { return fmt.Sprintf("they wrote %q", a.marks(name)) })
}

// holds waits until the runtime holds just the pods of these names.
func (a *agentPlace) holds(names ...string) {
	a.t.Helper()
	var got []string
	eventually(a.t, fmt.Sprintf("the runtime holds %q", names), func() bool {
		pods, err := a.client.ListPods(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		got = nil
		for _, p := range pods {
			got = append(got, p.Name)
		}
		slices.Sort(got)
		return slices.Equal(got, names)
	}, func() string { return fmt.Sprintf("it holds %q", got) })
}

// ends ends an agent and asserts its exit code.
func (p *process) ends(s syscall.Signal, code int) {
	p.t.Helper()
	p.signal(s)
	if got := p.wait(); got != code {
		out, errw := p.output()
		p.t.Errorf("exit %d, want %d\n%s%s", got, code, out, errw)
	}
}

// marking is a pod that writes to /mark/NAME when it starts and when it ends.
func (a *agentPlace) marking(name, version string, more ...string) string {
	return a.marked(name, fmt.Sprintf(`trap "echo down%s >> /mark/%s; exit 0" TERM; echo up%s >> /mark/%s; while true; do sleep 0.1; done`, version, name, version, name), more...)
}

// Pods come, change and go with their manifests; an invalid one, and a
// directory that is gone, leave them alone.
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
		agent.prints("another directory is here now, and it is empty")
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

// An agent that is killed, or told to end, leaves its pods; the next one takes
// them as they are. There is one at a time, and a run beside it has its own.
func TestAgentIsStartedAgain(t *testing.T) {
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
		// Nobody is there when one manifest becomes invalid.
		a.put("web.yaml", "kind: Pod\napiVersion: v1\nmetadata: {name: web}\n")
		third := a.agent()
		third.prints("the runtime already holds the pod: it goes on")
		a.put("web.yaml", a.marking("web", "1"))
		third.prints("is valid again")
		third.ends(syscall.SIGTERM, 0)
		fourth := a.agent("--drain")
		fourth.prints("the runtime already holds the pod: it goes on")
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

// An agent that is killed while it ends a pod whose manifest is gone finishes
// that with what is left of the grace, hooks and all.
func TestAgentKilledWhileItEndsAPod(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.put("slow.yaml", a.marked("slow", `trap "echo down >> /mark/slow" TERM; echo up >> /mark/slow; while true; do sleep 0.1; done`, "terminationGracePeriodSeconds: 6"))
		first := a.agent()
		a.wrote("slow", "up")
		a.remove("slow.yaml")
		a.wrote("slow", "up", "down")
		begin := time.Now()
		<-time.After(2 * time.Second) // of its grace
		first.ends(syscall.SIGKILL, -1)
		again := a.agent("--drain")
		a.holds()
		if took := time.Since(begin); took < 4*time.Second || took > 9*time.Second {
			t.Errorf("it ended %s after it was told to: its grace is 6s", took)
		}
		again.ends(syscall.SIGTERM, 0)
		if got := a.marks("slow"); len(got) > 3 {
			t.Errorf("containers wrote %q", got)
		}
	})
}

// Critical pods end last, and within the time.
func TestAgentDrains(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		dns := strings.Replace(a.marking("dns", "", brief), "name: dns", "name: dns, annotations: {kubernetes.io/config.source: file}", 1)
		web := a.marked("web", `trap "" TERM; echo up >> /mark/web; while true; do sleep 0.1; done`, "terminationGracePeriodSeconds: 600")
		a.put("all.yaml", dns+web)
		agent := a.agent("--drain", "--drain-timeout", "9s", "-o", "json")
		a.wrote("dns", "up")
		a.wrote("web", "up")
		begin := time.Now()
		agent.ends(syscall.SIGTERM, 0)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("it took %s of 9s", took)
		}
		var stopped []string
		out, _ := agent.output()
		for _, l := range lines(t, out) {
			if l.Reason == "Stopped" {
				stopped = append(stopped, l.Name)
			}
		}
		if !slices.Equal(stopped, []string{"web", "dns"}) {
			t.Errorf("stopped %q, want web before dns\n%s", stopped, out)
		}
	})
}

// control is the client of the agent's socket.
func (a *agentPlace) control() *control.Client {
	a.t.Helper()
	var found []*control.Client
	eventually(a.t, "an agent listens", func() bool {
		dirs, err := filepath.Glob(a.path("run") + "/*")
		if err != nil || len(dirs) != 1 {
			return false
		}
		found, err = control.Find(dirs[0], nil)
		return err == nil && len(found) == 1
	}, func() string { return fmt.Sprint(found) })
	return found[0]
}

// A pod that was stopped stays so while its manifest does, whoever is killed,
// until it is started.
func TestAgentKeepsPodsStopped(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.put("web.yaml", a.marking("web", "1"))
		first := a.agent()
		a.wrote("web", "up1")
		if err := a.control().Stop(t.Context(), "default", "web", nil); err != nil {
			t.Fatal(err)
		}
		a.has("web", "up1", "down1")
		first.ends(syscall.SIGKILL, -1)
		second := a.agent("--drain")
		second.prints("the pod was stopped: it stays so")
		second.ends(syscall.SIGTERM, 0) // which does not forget it
		third := a.agent("--drain")
		third.prints("the pod was stopped: it stays so")
		a.has("web", "up1", "down1")
		if err := a.control().Start(t.Context(), "default", "web"); err != nil {
			t.Fatal(err)
		}
		a.wrote("web", "up1", "down1", "up1")
		if err := a.control().Stop(t.Context(), "default", "web", nil); err != nil {
			t.Fatal(err)
		}
		a.put("web.yaml", a.marking("web", "2"))
		a.wrote("web", "up1", "down1", "up1", "down1", "up2")
		third.ends(syscall.SIGTERM, 0)
	})
}

// An observer sees what others run, in events and metrics, and has no part in
// it.
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
			return strings.Contains(get(t, "http://"+address+"/metrics"), "\nkubelet_running_pods 1\n")
		}, func() string { return get(t, "http://"+address+"/metrics") })
		if body := get(t, "http://"+address+"/healthz"); body != "ok" {
			t.Errorf("health: %q", body)
		}
		run.ends(syscall.SIGTERM, 130)
		observer.prints("ContainerDied")
		observer.ends(syscall.SIGTERM, 0)
	})
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
