package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

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
	// names are those of its pods, without the node; leaving is the pod that it is
	// terminating, "" if there is none.
	names   []string
	leaving string
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
	k.adds("web", "cache", "log")
	return k
}

// adds adds static pods, and waits for all pods of the kubelet.
func (k *kubeletPlace) adds(names ...string) {
	k.t.Helper()
	for _, name := range names {
		k.kubelet.WriteStatic(k.t, name+".yaml", requesting("10m", pod(name, server, brief)))
	}
	k.names = append(k.names, names...)
	k.kubelet.Runs(k.t, k.names...)
}

// in is the place of a subtest.
func (k *kubeletPlace) in(t *testing.T) *kubeletPlace {
	sub, p := *k, *k.place
	p.t, sub.place = t, &p
	return &sub
}

// containers are the ids of the running containers by the name of their pods, but
// for the pod that the kubelet is terminating.
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
		if name := c.Labels["io.kubernetes.pod.name"]; name != k.leaving+k.node {
			all[name] = c.Id
		}
	}
	return all
}

// container waits until the runtime lists the container of a static pod as running, and
// returns its ID. The kubelet may show the pod as running before: it still shows how
// one of the same UID was.
func (k *kubeletPlace) container(name string) (id string) {
	k.t.Helper()
	eventually(k.t, "the container of "+name+" runs", func() bool {
		id = k.containers()[name+k.node]
		return id != ""
	}, func() string { return k.does("pods") })
	return id
}

// unharmed asserts that what is done leaves every running container and every
// sandbox of the kubelet's as it is, but for the pod that it is terminating.
func (k *kubeletPlace) unharmed(what string, do func()) {
	k.t.Helper()
	before, sandboxes := k.containers(), k.sandboxes()
	if len(before) < len(k.names) {
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
		if s.Metadata.Name != k.leaving+k.node {
			all = append(all, fmt.Sprintf("%s %s %s", s.Metadata.Name, s.Id, s.State))
		}
	}
	slices.Sort(all)
	return all
}

// hasLeft reports whether the kubelet has finished with the pod that it was terminating:
// such a pod may be removed.
func (k *kubeletPlace) hasLeft() bool {
	if k.leaving == "" {
		return false
	}
	for _, p := range rawPods(k.t, k.client) {
		if p.name == k.leaving+k.node && p.alive() {
			return false
		}
	}
	return true
}

// sparesEverything asserts that no command ends a pod of the kubelet's, and that
// rm refuses: it does not know who would be harmed.
func (k *kubeletPlace) sparesEverything(run func(args ...string) (out, errw string, code int)) {
	k.t.Helper()
	name := "default/" + cmp.Or(k.leaving, "web") + k.node
	for _, args := range [][]string{
		{"orphans", "--kill", "--rm"}, {"orphans", "--kill", name},
		{"orphans", "--kill", "--static-pods", k.kubelet.Static},
		{"rm", "--force", name}, {"rm", "--force", "default/*"},
	} {
		k.unharmed(strings.Join(args, " "), func() {
			out, errw, code := run(args...)
			if args[0] == "rm" && code == 0 && !k.hasLeft() {
				k.t.Errorf("podctl %q does not refuse:\n%s%s", args, out, errw)
			}
			if strings.Contains(out, "StopContainer") {
				k.t.Errorf("podctl %q stops containers:\n%s%s", args, out, errw)
			}
		})
	}
}

// preempts asserts that preempt counts the kubelet's pods, or refuses to judge.
func (k *kubeletPlace) preempts() {
	k.t.Helper()
	k.preemptsWith(k.podctl)
}

func (k *kubeletPlace) preemptsWith(run func(args ...string) (out, errw string, code int)) {
	k.t.Helper()
	file := k.path("critical.yaml")
	manifest := requesting("100m", pod("critical", server, criticalClass))
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		k.t.Fatal(err)
	}
	out, errw, code := run("preempt", "--dry-run", "-f", file, "-o", "json")
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

// within runs podctl below another command.
func (k *kubeletPlace) within(argv []string, args ...string) (out, errw string, code int) {
	k.t.Helper()
	all := slices.Concat(argv, []string{binary}, k.flags(), args)
	proc := k.command("", exec.Command(all[0], all[1:]...))
	code = proc.wait()
	out, errw = proc.output()
	return out, errw, code
}
