package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// alias is another path to a runtime's socket.
type alias struct {
	name string
	// make makes it in dir and returns the path of the socket.
	make func(t *testing.T, socket, dir string) string
	// proxy: another process serves the socket.
	proxy bool
}

var aliases = []alias{
	{name: "symbolic link", make: func(t *testing.T, socket, dir string) string {
		return linked(t, os.Symlink, socket, filepath.Join(dir, "link.sock"))
	}},
	{name: "symbolic link to its directory", make: func(t *testing.T, socket, dir string) string {
		return filepath.Join(linked(t, os.Symlink, filepath.Dir(socket), filepath.Join(dir, "link")), filepath.Base(socket))
	}},
	{name: "hard link", make: func(t *testing.T, socket, _ string) string {
		return linked(t, os.Link, socket, filepath.Join(filepath.Dir(socket), "hard.sock"))
	}},
	{name: "bind mount", make: func(t *testing.T, socket, dir string) string {
		path := filepath.Join(dir, "bound.sock")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return bound(t, socket, path)
	}},
	{name: "bind mount of its directory", make: func(t *testing.T, socket, dir string) string {
		path := filepath.Join(dir, "bound")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(bound(t, filepath.Dir(socket), path), filepath.Base(socket))
	}},
	{name: "proxy", proxy: true, make: func(t *testing.T, socket, dir string) string {
		return forwarded(t, socket, filepath.Join(dir, "proxy.sock"))
	}},
}

func linked(t *testing.T, link func(string, string) error, target, path string) string {
	t.Helper()
	if err := link(target, path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

func bound(t *testing.T, target, path string) string {
	t.Helper()
	if err := syscall.Mount(target, path, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	return path
}

// forwarded serves a socket that passes every byte on.
func forwarded(t *testing.T, socket, path string) string {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				client.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(to, from) // ends with either side
				to.Close()
				from.Close()
			}
			go pass(server, client)
			go pass(client, server)
		}
	}()
	return path
}

// withWeb is an agent that manages the pod default/web.
func withWeb(t *testing.T, rt *live.Instance) (a *agentPlace, agent *process) {
	t.Helper()
	a = withAgent(t, rt)
	a.put("web.yaml", a.marking("web", ""))
	agent = a.agent()
	a.wrote("web", "up")
	eventually(t, "the pod is managed", func() bool { return strings.Contains(a.does("pods"), "default/web") }, func() string { return "" })
	return a, agent
}

// behindProxy is the place with a proxy before the runtime.
func (a *agentPlace) behindProxy() *place {
	a.t.Helper()
	p := *a.place
	p.endpoint = "unix://" + forwarded(a.t, strings.TrimPrefix(a.rt.Endpoint, "unix://"), a.path("mark/proxy.sock"))
	return &p
}

// Whatever path leads to the runtime, the pods of a living agent stay its own: those
// that run, one that has ended and one that waits without a sandbox.
func TestPodsKeepTheirAgentOnEveryPathToRuntime(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.put("web.yaml", a.marking("web", ""))
		a.put("job.yaml", a.marked("job", "echo ran >> /mark/job", never))
		a.put("wait.yaml", strings.Replace(a.marking("wait", ""), "volumes: [", "volumes: [{name: c, configMap: {name: missing}}, ", 1))
		agent := a.agent()
		a.wrote("web", "up")
		a.wrote("job", "ran")
		agent.prints("wait")
		for _, alias := range aliases {
			t.Run(alias.name, func(t *testing.T) {
				p := *a.place
				p.t, p.endpoint = t, "unix://"+alias.make(t, strings.TrimPrefix(rt.Endpoint, "unix://"), p.path("mark"))
				if found := p.orphans(); len(found) > 0 {
					t.Errorf("orphans: %v", found)
				}
				if out, errw, code := p.podctl("orphans", "--kill", "--rm"); code != 0 || strings.Contains(out, "StopContainer") || strings.Contains(out, "removed") {
					t.Errorf("orphans --kill: exit %d\n%s%s", code, out, errw)
				}
				if alias.proxy {
					if out, errw, code := p.podctl("rm", "--force", "default/web"); code != 1 || !strings.Contains(errw, `podctl "agent" manages it, by another endpoint`) {
						t.Errorf("rm --force: exit %d\n%s%s", code, out, errw)
					}
				}
				out, errw, code := p.podctl("agent", "--manifests", p.path("manifests"))
				want := fmt.Sprintf("an agent (pid %d) runs on this runtime already", agent.cmd.Process.Pid)
				if alias.proxy {
					want += ", by " + rt.Endpoint
				}
				if code != 1 || !strings.Contains(errw, want) || out != "" {
					t.Errorf("second agent: exit %d, want %q\n%s%s", code, want, out, errw)
				}
				for _, name := range []string{"web", "job", "wait"} {
					run := p.start("", p.path("manifests/"+name+".yaml"))
					run.prints(fmt.Sprintf(`pod "%s_default" is managed by the living podctl "agent" (pid %d)`, name, agent.cmd.Process.Pid))
					_ = run.cmd.Process.Signal(syscall.SIGINT) // it may have exited
					if code := run.wait(); code == 0 {
						out, errw := run.output()
						t.Errorf("run %s: exit %d\n%s%s", name, code, out, errw)
					}
				}
			})
		}
		a.has("web", "up")
		a.has("job", "ran")
		a.remove("web.yaml")
		a.remove("job.yaml")
		a.remove("wait.yaml")
		a.wrote("web", "up", "down")
		a.holds()
		agent.ends(syscall.SIGTERM, 0)
	})
}

// A podctl in a container, with a run directory of its own, leaves the pods of the host's
// agent alone: it sees the agent, also by another path to the socket, or it sees that it
// runs in another PID namespace, or must not look into other processes.
func TestPodsKeepTheirAgentForPodctlInContainer(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a, agent := withWeb(t, rt)
		proxy := a.behindProxy()
		empty := t.TempDir()
		for name, c := range map[string]struct {
			p      *place
			within []string
			want   string
		}{
			"with the host's processes": {proxy, nil, `podctl "agent"`},
			"in a PID namespace":        {a.place, []string{"unshare", "--pid", "--fork", "--mount-proc"}, "another PID namespace"},
			"without SYS_PTRACE":        {a.place, []string{"setpriv", "--inh-caps=-sys_ptrace", "--bounding-set=-sys_ptrace"}, "must not look into the runtime's process"},
		} {
			podctl := func(args ...string) (out, errw string, code int) {
				argv := slices.Concat(c.within, []string{binary}, c.p.flags(), []string{"--run-dir", a.path("mark/" + strings.Fields(name)[1])}, args)
				p := c.p.command("", exec.Command(argv[0], argv[1:]...))
				code = p.wait()
				out, errw = p.output()
				return out, errw, code
			}
			if out, errw, _ := podctl("orphans", "--kill", "--rm"); strings.Contains(out, "StopContainer") || strings.Contains(out, "removed") {
				t.Errorf("%s: orphans --kill\n%s%s", name, out, errw)
			}
			if out, errw, code := podctl("rm", "--force", "default/web"); code != 1 || !strings.Contains(errw, c.want) {
				t.Errorf("%s: rm --force: exit %d, want %q\n%s%s", name, code, c.want, out, errw)
			}
			if out, errw, code := podctl("run", a.path("manifests/web.yaml")); code == 0 || !strings.Contains(out+errw, c.want) {
				t.Errorf("%s: run: exit %d, want %q\n%s%s", name, code, c.want, out, errw)
			}
			argv := slices.Concat(c.within, []string{"timeout", "--signal=INT", "10", binary}, c.p.flags(), []string{"--run-dir", a.path("mark/agent"), "agent", "--manifests", empty})
			if second := c.p.command("", exec.Command(argv[0], argv[1:]...)); second.wait() == 0 {
				out, errw := second.output()
				t.Errorf("%s: agent: not ended by its time-out\n%s%s", name, out, errw)
			}
		}
		a.has("web", "up")
		agent.ends(syscall.SIGTERM, 0)
		argv := slices.Concat([]string{"--pid", "--fork", "--mount-proc", binary}, a.flags(), []string{"rm", "--owner-is-gone", "default/web"})
		if out, err := exec.Command("unshare", argv...).CombinedOutput(); err != nil || !strings.Contains(string(out), "default/web") {
			t.Errorf("rm --owner-is-gone: %v\n%s", err, out)
		}
		a.wrote("web", "up", "down")
		a.holds()
	})
}

// The run directory of a living agent is deleted: its pods stay its own, also before
// it can restore its locks, and it restores them.
func TestPodsKeepTheirAgentWithoutRunDirectory(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a, agent := withWeb(t, rt)
		agent.signal(syscall.SIGSTOP)
		for _, dir := range glob(t, a.path("run/*")) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		proxy := a.behindProxy()
		for name, p := range map[string]*place{"directly": a.place, "through a proxy": proxy} {
			if out, errw, code := p.podctl("orphans", "--kill", "--rm"); strings.Contains(out, "default/web") || code == 0 && errw != "" {
				t.Errorf("%s: orphans --kill: exit %d\n%s%s", name, code, out, errw)
			}
		}
		_, errw, code := a.podctl("agent", "--manifests", a.path("manifests"))
		if want := fmt.Sprintf("an agent (pid %d) runs on this runtime already", agent.cmd.Process.Pid); code != 1 || !strings.Contains(errw, want) {
			t.Errorf("second agent: exit %d, want %q\n%s", code, want, errw)
		}
		out, errw, code := a.run("", a.path("manifests/web.yaml"))
		if want := fmt.Sprintf(`the living podctl "agent" (pid %d)`, agent.cmd.Process.Pid); code != 1 || !strings.Contains(errw, want) || !strings.Contains(errw, "was deleted") {
			t.Errorf("run: exit %d, want %q\n%s%s", code, want, out, errw)
		}
		agent.signal(syscall.SIGCONT)
		agent.prints("run directory")
		eventually(t, "its locks and its socket are restored", func() bool {
			out, _, code := a.podctl("pods", "default/web")
			return code == 0 && strings.Contains(out, "agent") && strings.Contains(out, "syncing")
		}, func() string { out, errw, _ := a.podctl("pods"); return out + errw })
		a.has("web", "up")
		a.remove("web.yaml")
		a.wrote("web", "up", "down")
		a.holds()
		agent.ends(syscall.SIGTERM, 0)
	})
}

// Two runtimes share --root, --log-dir and --run-dir: pods of one name, and of one
// manifest, run on both, and nothing of the one is taken for the other's.
func TestRuntimesShareDirectories(t *testing.T) {
	kinds := live.Kinds()
	if len(kinds) < 2 {
		t.Skip("two kinds of runtimes are needed: PODCTL_LIVE_RUNTIMES")
	}
	a := at(t, live.Runtime(t, kinds[0]))
	other := live.Runtime(t, kinds[1])
	other.Leftovers(t)
	b := *a
	b.rt, b.endpoint = other, other.Endpoint

	const data = `; echo here > /data/file; cat /data/file; trap "cat /data/file >> /mark/$M; exit 0" TERM; echo up >> /mark/$M; ` + forever
	web := func(mark string) string {
		yaml := a.marked("web", "M="+mark+data)
		yaml = strings.Replace(yaml, "volumes: [", "volumes: [{name: data, emptyDir: {}}, ", 1)
		return strings.Replace(yaml, "volumeMounts: [", "volumeMounts: [{name: data, mountPath: /data}, ", 1)
	}
	up := func(mark string, times int) {
		t.Helper()
		eventually(t, "containers are up", func() bool { return len(a.marks(mark)) == times }, func() string { return strings.Join(a.marks(mark), " ") })
	}
	v1 := a.start(web("v1"), "-")
	up("v1", 1)
	v2 := b.start(web("v2"), "-")
	up("v2", 1)
	v1.ends(syscall.SIGINT, exitInterrupted)
	v2.ends(syscall.SIGINT, exitInterrupted)
	a.has("v1", "up", "here") // its volume was there to the end
	a.has("v2", "up", "here")

	one, two := a.start(web("same"), "-"), (*process)(nil)
	up("same", 1)
	two = b.start(web("same"), "-")
	up("same", 2)
	if dirs, logs := glob(t, a.path("root/pods/*")), glob(t, a.path("logs/*/c/0.log")); len(dirs) != 2 || len(logs) != 2 {
		t.Errorf("directories %v, logs %v", dirs, logs)
	}
	for name, p := range map[string]*place{"first": a, "second": &b} {
		if found := p.orphans(); len(found) > 0 {
			t.Errorf("orphans of the %s: %v", name, found)
		}
	}
	one.ends(syscall.SIGINT, exitInterrupted)
	a.has("same", "up", "up", "here")
	two.ends(syscall.SIGINT, exitInterrupted)
	a.has("same", "up", "up", "here", "here")

	job := a.marked("job", "echo ran >> /mark/job", never)
	if _, errw, code := a.run(job, "--keep", "-"); code != 0 {
		t.Errorf("exit %d\n%s", code, errw)
	}
	if _, errw, code := b.run(job, "-"); code != 0 {
		t.Errorf("on the other runtime: exit %d\n%s", code, errw)
	}
	a.has("job", "ran", "ran")
	a.does("rm", "default/job")
}
