package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
)

// kubeletPlace is a place beside a real kubelet, which has static pods.
type kubeletPlace struct {
	*place
	kubelet *live.Kubelet
	client  *bare.Client
	node    string // the end of the names of its pods, with the hyphen
}

// besideKubelet runs the test once beside a kubelet with its read-only port, and
// once beside one that has none and a node name of its own. Tests beside a kubelet
// run beside no others: the test process is a client of the kubelet's runtime and
// the recording proxy of other tests, so that podctl takes it for a proxy between
// them, and refuses to start there.
func besideKubelet(t *testing.T, test func(t *testing.T, k *kubeletPlace)) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("read-only-port", func(t *testing.T) {
		t.Parallel()
		test(t, startKubelet(t, strings.ToLower(host)))
	})
	t.Run("authenticated-port", func(t *testing.T) {
		t.Parallel()
		test(t, startKubelet(t, "node-1", "--read-only-port=0", "--hostname-override=node-1"))
	})
}

// startKubelet starts a kubelet with three static pods, and waits for them.
func startKubelet(t *testing.T, node string, flags ...string) *kubeletPlace {
	t.Helper()
	kubelet := live.StartKubelet(t, flags...)
	k := &kubeletPlace{place: makePlace(t, kubelet.Runtime), kubelet: kubelet, node: "-" + node}
	var err error
	if k.client, err = bare.Dial(kubelet.Runtime.Endpoint); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.client.Close() })
	names := []string{"web", "cache", "log"}
	for _, name := range names {
		kubelet.WriteStatic(t, name+".yaml", requesting("100m", pod(name, server, brief)))
	}
	kubelet.Runs(t, names...)
	return k
}

// containers are the ids of the running containers by the name of their pods.
func (k *kubeletPlace) containers() map[string]string {
	k.t.Helper()
	list, err := k.client.Runtime.ListContainers(k.t.Context(), &runtimeapi.ListContainersRequest{
		Filter: &runtimeapi.ContainerFilter{State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING}},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range list.Containers {
		all[c.Labels["io.kubernetes.pod.name"]] = c.Id
	}
	return all
}

// unharmed asserts that what is done leaves every running container and every
// sandbox of the kubelet's as it is.
func (k *kubeletPlace) unharmed(what string, do func()) {
	k.t.Helper()
	before, sandboxes := k.containers(), k.sandboxes()
	if len(before) < 3 {
		k.t.Fatalf("before %s: the kubelet's containers are %v", what, before)
	}
	do()
	if after := k.containers(); !maps.Equal(before, after) {
		k.t.Errorf("%s: the kubelet's containers were %v, are %v", what, before, after)
	}
	if after := k.sandboxes(); !slices.Equal(sandboxes, after) {
		k.t.Errorf("%s: the kubelet's sandboxes were %v, are %v", what, sandboxes, after)
	}
}

// sandboxes are the ids of sandboxes with their states.
func (k *kubeletPlace) sandboxes() []string {
	k.t.Helper()
	list, err := k.client.Runtime.ListPodSandbox(k.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	var all []string
	for _, s := range list.Items {
		all = append(all, fmt.Sprintf("%s %s %s", s.Metadata.Name, s.Id, s.State))
	}
	slices.Sort(all)
	return all
}

// sparesEverything asserts that no command ends a pod of the kubelet's, and that
// rm refuses: it does not know who would be harmed.
func (k *kubeletPlace) sparesEverything(run func(args ...string) (out, errw string, code int)) {
	k.t.Helper()
	for _, args := range [][]string{
		{"orphans", "--kill"}, {"orphans", "--kill", "--rm", "default/web" + k.node},
		{"orphans", "--kill", "--static-pods", k.kubelet.Static},
		{"rm", "--force", "default/web" + k.node}, {"rm", "--force", "--all"},
	} {
		k.unharmed(strings.Join(args, " "), func() {
			out, errw, code := run(args...)
			if args[0] == "rm" && code == 0 {
				k.t.Errorf("podctl %q does not refuse:\n%s%s", args, out, errw)
			}
			if strings.Contains(out, "StopContainer") {
				k.t.Errorf("podctl %q stops containers:\n%s%s", args, out, errw)
			}
		})
	}
}

// Beside a healthy kubelet its pods are its own in every command.
func TestPodsOfAHealthyKubeletAreItsOwn(t *testing.T) {
	besideKubelet(t, func(t *testing.T, k *kubeletPlace) {
		k.sparesEverything(k.podctl)
		if got := classes(k.orphans()); got != "" {
			t.Errorf("orphans: %s", got)
		}
		if out := k.does("terminating", "-o", "name"); strings.TrimSpace(out) != "" {
			t.Errorf("terminating on a healthy node: %s", out)
		}
		out := k.does("pods", "-o", "wide")
		t.Logf("\n%s", out)
		for _, p := range k.kubelet.Pods(t) {
			line := lineOf(out, p.Namespace+"/"+p.Name)
			if !strings.Contains(line, "kubelet") || !strings.Contains(line, "Running") {
				t.Errorf("pods names no kubelet as the owner of %s, which runs: %q", p.Name, line)
			}
		}
	})
}

// preempt counts the kubelet's pods, or refuses to judge.
func TestPreemptCountsThePodsOfTheKubelet(t *testing.T) {
	besideKubelet(t, func(_ *testing.T, k *kubeletPlace) { k.preempts() })
}

func (k *kubeletPlace) preempts() {
	k.t.Helper()
	file := k.path("critical.yaml")
	manifest := requesting("100m", pod("critical", server, criticalClass))
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		k.t.Fatal(err)
	}
	out, errw, code := k.podctl("preempt", "--dry-run", "-f", file, "-o", "json")
	var said struct {
		Sources []struct {
			Name string
			Pods int
		}
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		if code == 0 || !strings.Contains(errw, "kubelet") {
			k.t.Errorf("preempt: exit %d, neither an answer nor a refusal that names the kubelet:\n%s%s", code, out, errw)
		}
		return
	}
	pods := 0
	for _, s := range said.Sources {
		pods += s.Pods
	}
	if want := len(k.kubelet.Pods(k.t)); pods != want {
		k.t.Errorf("preempt counts %d pods, the kubelet has %d: %+v", pods, want, said.Sources)
	}
}

// A kubelet that terminates a pod gracefully is left to it: nothing shortens the
// grace period, and the pod is not an orphan although /pods no longer names it.
func TestGraceOfAKubeletsPodIsNotShortened(t *testing.T) {
	besideKubelet(t, func(t *testing.T, k *kubeletPlace) {
		const flush = `trap "echo flushing >> /mark/flush; sleep 10; echo flushed >> /mark/flush; exit 0" TERM; ` +
			`echo up >> /mark/flush; while true; do sleep 0.1; done`
		k.kubelet.WriteStatic(t, "flush.yaml", k.marked("flush", flush, "terminationGracePeriodSeconds: 60"))
		k.getsLines("flush", "up")
		k.kubelet.Runs(t, "web", "cache", "log", "flush")
		k.kubelet.RemoveStatic(t, "flush.yaml")
		k.getsLines("flush", "up", "flushing")
		for range 2 {
			k.sparesEverything(k.podctl)
			if got := classes(k.orphans()); got != "" {
				t.Errorf("orphans: %s", got)
			}
			time.Sleep(time.Second)
		}
		t.Logf("\n%s", k.does("terminating"))
		k.getsLines("flush", "up", "flushing", "flushed")
	})
}

// A kubelet that is gone, hangs or starts has not said that its pods are orphans.
func TestPodsOfAKubeletThatDoesNotAnswerAreSpared(t *testing.T) {
	besideKubelet(t, func(t *testing.T, k *kubeletPlace) {
		for _, state := range []struct {
			name        string
			enter, exit func()
		}{
			{"frozen", func() { k.kubelet.Signal(t, syscall.SIGSTOP) }, func() { k.kubelet.Signal(t, syscall.SIGCONT) }},
			{"killed", func() { k.kubelet.Kill(t) }, func() { k.kubelet.Start(t) }},
			{"starting", func() { k.kubelet.Kill(t); k.kubelet.Launch(t) }, func() { k.kubelet.Start(t) }},
			{"starting again", func() { k.kubelet.Kill(t); k.kubelet.Launch(t) }, func() { k.kubelet.Start(t) }},
		} {
			state.enter()
			k.sparesEverything(k.podctl)
			state.exit()
			k.kubelet.Runs(t, "web", "cache", "log")
			if t.Failed() {
				t.Fatalf("with the kubelet %s", state.name)
			}
		}
	})
}

// layout is a way to run podctl in a container: a command that runs another.
type layout struct {
	name string
	// socket is where podctl sees the runtime; empty is its usual path.
	socket string
	argv   []string
}

// layouts are those that were seen to hide a kubelet from podctl.
func (k *kubeletPlace) layouts() []layout {
	other := k.path("other/cri.sock")
	// elsewhere mounts the socket at another path, alone in a mount namespace.
	elsewhere := func(more ...string) []string {
		const script = `mkdir -p "${1%/*}" && touch "$1" && mount --bind "$0" "$1" && shift && exec "$@"`
		return append(append([]string{"unshare", "--mount"}, more...),
			"sh", "-c", script, strings.TrimPrefix(k.endpoint, "unix://"), other)
	}
	weak := []string{"setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"}
	pid := []string{"unshare", "--pid", "--fork", "--mount-proc"}
	return []layout{
		{"pid-namespace", "", pid},
		{"net-namespace", "", []string{"unshare", "--net"}},
		{"socket-elsewhere", other, elsewhere()},
		{"no-ptrace", "", weak},
		{"pid-net-and-socket-elsewhere", other, elsewhere("--net", "--pid", "--fork", "--mount-proc")},
		{"pid-net-mount-and-no-ptrace", other, slices.Concat(weak, elsewhere("--net", "--pid", "--fork", "--mount-proc"))},
	}
}

// podctl in a container sees less; what it cannot see it does not touch.
func TestPodctlInAContainerHarmsNoPodOfTheKubelet(t *testing.T) {
	besideKubelet(t, func(t *testing.T, k *kubeletPlace) {
		for _, l := range k.layouts() {
			t.Run(l.name, func(t *testing.T) {
				k.kubelet.Runs(t, "web", "cache", "log")
				in := *k
				p := *k.place
				p.t, in.place = t, &p
				if l.socket != "" {
					p.endpoint = "unix://" + l.socket
				}
				in.sparesEverything(func(args ...string) (string, string, int) {
					return in.within(l.argv, args...)
				})
				out, errw, code := in.within(l.argv, "pods")
				t.Logf("pods: exit %d\n%s%s", code, out, errw)
				out, errw, code = in.within(l.argv, "orphans")
				t.Logf("orphans: exit %d\n%s%s", code, out, errw)
			})
		}
	})
}

// within runs podctl below another command.
func (k *kubeletPlace) within(argv []string, args ...string) (out, errw string, code int) {
	k.t.Helper()
	all := slices.Concat(argv, []string{binary}, k.flags(), args)
	proc := k.command("", exec.Command(all[0], all[1:]...))
	code = proc.wait()
	out, errw = proc.output()
	return out, errw, code
}

// getsLines waits until containers have written these lines to /mark/NAME.
func (p *place) getsLines(name string, lines ...string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("containers write %q to %s", lines, name),
		func() bool { return slices.Equal(p.marks(name), lines) },
		func() string {
			return fmt.Sprintf("they wrote %q to %s", p.marks(name), filepath.Join(p.path("mark"), name))
		})
}
