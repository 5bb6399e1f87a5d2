package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/test/live/image"
)

// fleetNode is a node of a cluster: a kubelet that runs the pods of examples/fleet,
// of podctl's own image, beside others.
type fleetNode struct{ *kubeletPlace }

// The pods of examples/fleet run beside a real kubelet, of the image that the project
// builds: the inspector says of the node what podctl on the host says, and changes
// nothing; the observer serves metrics without powers on the host.
func TestFleetBesideAKubelet(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	needsDefaultRoute(t)
	n := fleetNode{startKubelet(t, strings.ToLower(host))}
	n.loadsImage()
	n.runs("observer", "inspector")
	n.settles()
	for _, test := range []struct {
		rule string
		do   func(fleetNode)
	}{
		{"the inspector sees the kubelet's pods", fleetNode.listsPods},
		{"the inspector finds no orphan of a kubelet that answers", fleetNode.findsNoOrphan},
		{"the doctor shows how the kubelet was asked", fleetNode.examines},
		{"the inspector reads files of the host", fleetNode.readsFiles},
		{"the inspector changes nothing", fleetNode.changesNothing},
		{"the observer serves metrics and health", fleetNode.serves},
		{"the inspector sees a pod that its kubelet terminates", fleetNode.seesTermination},
	} {
		t.Run(test.rule, func(t *testing.T) { test.do(fleetNode{n.in(t)}) })
	}
}

// needsDefaultRoute skips the test where a kubelet has no address of its node: it takes
// that of the default route, and starts no container that is given it.
func needsDefaultRoute(t *testing.T) {
	t.Helper()
	for _, family := range []string{"-4", "-6"} {
		routes, err := exec.Command("ip", family, "route", "show", "default").Output()
		if err != nil {
			t.Fatal("ip route:", err)
		}
		if len(routes) > 0 {
			return
		}
	}
	t.Skip("the host has no default route, and so the kubelet no address for its pods' status.hostIP")
}

// loadsImage builds podctl's image and loads it into the runtime.
func (n fleetNode) loadsImage() {
	n.t.Helper()
	img, err := image.Podctl(binary)
	if err != nil {
		n.t.Fatal(err)
	}
	archive := n.path("podctl-image.tar")
	if err := image.SaveOCI(archive, image.PodctlName, img); err != nil {
		n.t.Fatal(err)
	}
	n.rt.Import(n.t, archive)
}

// runs runs the pods of DaemonSets as static pods of the kubelet. A static pod has
// no service account; the runtime's socket and podctl's directory are the test's.
func (n fleetNode) runs(components ...string) {
	n.t.Helper()
	state := n.path("root")
	sockets := filepath.Dir(strings.TrimPrefix(n.rt.Endpoint, "unix://"))
	for _, component := range components {
		text, err := os.ReadFile(filepath.Join("../../examples/fleet", component+".yaml"))
		if err != nil {
			n.t.Fatal(err)
		}
		var d appsv1.DaemonSet
		if err := yaml.UnmarshalStrict(text, &d); err != nil {
			n.t.Fatal(err)
		}
		p := v1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace, Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec,
		}
		p.Spec.ServiceAccountName, p.Spec.NodeSelector = "", nil
		c := &p.Spec.Containers[0]
		c.Env = slices.DeleteFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == "CONTAINER_RUNTIME_ENDPOINT" })
		c.Env = append(c.Env, v1.EnvVar{Name: "CONTAINER_RUNTIME_ENDPOINT", Value: n.rt.Endpoint}, v1.EnvVar{Name: "PODCTL_ROOT", Value: state})
		for i := range p.Spec.Volumes {
			switch v := &p.Spec.Volumes[i]; v.Name {
			case "runtime":
				v.HostPath.Path, c.VolumeMounts[i].MountPath = sockets, sockets
			case "events":
				v.HostPath.Path, c.VolumeMounts[i].MountPath = state, "/host"+state
			}
		}
		manifest, err := yaml.Marshal(p)
		if err != nil {
			n.t.Fatal(err)
		}
		n.kubelet.WriteStatic(n.t, component+".yaml", string(manifest))
		n.names = append(n.names, d.Name)
	}
	n.kubelet.Runs(n.t, n.names...)
}

// inspects runs podctl in the inspector, by podctl on the host.
func (n fleetNode) inspects(args ...string) (out, errw string, code int) {
	n.t.Helper()
	return n.podctl(append([]string{"exec", "podctl-system/podctl-inspector" + n.node, "--", "podctl"}, args...)...)
}

// answers decodes the JSON that podctl prints in the inspector.
func answers[T any](n fleetNode, args ...string) (into T) {
	n.t.Helper()
	out, errw, code := n.inspects(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), &into); err != nil {
		n.t.Fatalf("%v: exit code %d, %v\n%s%s", args, code, err, out, errw)
	}
	return into
}

func (n fleetNode) listsPods() {
	var got []string
	for _, p := range answers[[]listedPod](n, "pods") {
		if p.Kind != "kubelet" || p.Status != "Running" {
			n.t.Errorf("%s of %s is %s", p.Metadata.Name, p.Kind, p.Status)
		}
		got = append(got, strings.TrimSuffix(p.Metadata.Name, n.node))
	}
	want := slices.Sorted(slices.Values(n.names))
	if slices.Sort(got); !slices.Equal(got, want) {
		n.t.Errorf("pods: %q, want %q", got, want)
	}
}

func (n fleetNode) findsNoOrphan() {
	out, errw, code := n.inspects("orphans", "-o", "json")
	if strings.TrimSpace(out) != "[]" || errw != "" || code != 0 {
		n.t.Errorf("orphans: exit code %d\n%s%s", code, out, errw)
	}
}

func (n fleetNode) examines() {
	found := map[string]string{}
	for _, f := range answers[[]struct{ Name, Level, Evidence string }](n, "doctor") {
		found[f.Name] = f.Level + " " + f.Evidence
	}
	for check, want := range map[string]string{
		"runtime.ready": "ok", "runtime.cni": "ok", "cgroup.version": "", "leftover": "ok",
		"kernel.mount-propagation": "ok",
		"kubelet":                  fmt.Sprintf("info kubelet (pid %d)", n.kubelet.PID(n.t)),
		"kubelet.files":            fmt.Sprintf("ok root directory %s, configuration %s, static pods ", n.kubelet.Root, n.kubelet.Config),
		"kubelet.pods":             fmt.Sprintf("ok %d pods, asked at %s with no credential", len(n.names), n.kubelet.ReadOnly),
	} {
		if got, ok := found[check]; !ok || !strings.HasPrefix(got, want) {
			n.t.Errorf("%s: %q, want %q", check, got, want)
		}
	}
	for check, text := range found {
		if strings.HasPrefix(text, "failure") && !strings.HasPrefix(check, "disk.") {
			n.t.Errorf("%s: %s", check, text)
		}
	}
}

func (n fleetNode) readsFiles() {
	if out, errw, code := n.inspects("logs", "web"+n.node); strings.TrimSpace(out) != "up" || code != 0 {
		n.t.Errorf("logs: exit code %d\n%s%s", code, out, errw)
	}
	if out, errw, code := n.inspects("top", "pods", "-o", "name"); strings.Count(out, "\n") != len(n.names) || code != 0 {
		n.t.Errorf("top: exit code %d\n%s%s", code, out, errw)
	}
	if out, errw, code := n.inspects("describe", "web"+n.node); !strings.Contains(out, "Running") || code != 0 {
		n.t.Errorf("describe: exit code %d\n%s%s", code, out, errw)
	}
}

func (n fleetNode) changesNothing() {
	name := "default/web" + n.node
	n.unharmed("podctl in the inspector", func() {
		for _, args := range [][]string{
			{"stop", name}, {"rm", "--force", name}, {"orphans", "--kill", "--rm"}, {"exec", name, "--", "true"},
			{"--read-only=false", "stop", name}, {"prune", "--yes"}, {"cp", name + ":/etc/hosts", "/tmp/hosts"},
		} {
			out, errw, code := n.inspects(args...)
			if code != 1 || !strings.Contains(errw, "refused: podctl is read-only") {
				n.t.Errorf("%q: exit code %d\n%s%s", args, code, out, errw)
			}
		}
	})
}

func (n fleetNode) serves() {
	for _, p := range n.kubelet.Pods(n.t) {
		if p.Namespace != "podctl-system" {
			continue
		}
		address := p.Status.PodIP
		if p.Spec.HostNetwork {
			address = n.listensAt()
		}
		url := "http://" + net.JoinHostPort(address, "9911")
		eventually(n.t, p.Name+" is ready", func() bool { status, _ := fetch(url + "/readyz"); return status == http.StatusOK },
			func() string {
				status, body := fetch(url + "/readyz?verbose")
				return fmt.Sprintf("%d %s", status, body)
			})
		if status, body := fetch(url + "/healthz"); status != http.StatusOK {
			n.t.Errorf("%s: /healthz: %d %s", p.Name, status, body)
		}
		_, body := fetch(url + "/metrics")
		if !strings.Contains(body, "podctl_pleg_healthy 1") || strings.Contains(body, "\nkubelet_") {
			n.t.Errorf("%s: /metrics:\n%s", p.Name, body)
		}
	}
}

// listensAt returns the only address of the host at which the inspector listens. A
// standalone kubelet does not report it: the status of a pod on the host's network has
// no address.
func (n fleetNode) listensAt() string {
	n.t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		n.t.Fatal(err)
	}
	var at []string
	find := func() bool {
		at = nil
		for _, a := range addresses {
			if ip := a.(*net.IPNet).IP; ip.To4() != nil {
				if status, _ := fetch("http://" + net.JoinHostPort(ip.String(), "9911") + "/healthz"); status == http.StatusOK {
					at = append(at, ip.String())
				}
			}
		}
		return len(at) > 0
	}
	eventually(n.t, "the inspector listens", find, func() string { return "at no address" })
	if len(at) != 1 || net.ParseIP(at[0]).IsLoopback() {
		n.t.Errorf("the inspector listens at %q", at)
	}
	return at[0]
}

func fetch(url string) (status int, body string) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// seesTermination removes the manifest of a pod that takes its grace period.
func (n fleetNode) seesTermination() {
	n.kubelet.WriteStatic(n.t, "slow.yaml", pod("slow", `trap "" TERM; echo up; `+forever, "terminationGracePeriodSeconds: 30"))
	n.kubelet.Runs(n.t, append(slices.Clone(n.names), "slow")...)
	n.kubelet.RemoveStatic(n.t, "slow.yaml")
	type row struct {
		Metadata struct{ Name string }
	}
	eventually(n.t, "the inspector lists the terminating pod", func() bool {
		rows := answers[[]row](n, "terminating")
		return len(rows) == 1 && rows[0].Metadata.Name == "slow"+n.node
	}, func() string { out, errw, _ := n.inspects("terminating"); return out + errw })
	out, errw, _ := n.inspects("orphans", "-o", "name")
	if strings.TrimSpace(out) != "" {
		n.t.Errorf("orphans while the kubelet terminates a pod:\n%s%s", out, errw)
	}
	n.kubelet.Runs(n.t, n.names...)
}
