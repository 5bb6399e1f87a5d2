package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/fleet"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/image"
	"github.com/podctl/podctl/testkit/testutil"
)

// cluster is the one of hack/cluster, as `hack/cluster run` gives it to a test: the
// kubeconfig, kubectl, and the endpoint of its node's runtime.
type cluster struct {
	t        *testing.T
	endpoint string
	dir      string // holds podctl, as kubectl-podctl
}

// run is the directory of the node's runtime: hack/runtime keeps its state there.
func (c cluster) run() string { return filepath.Dir(strings.TrimPrefix(c.endpoint, "unix://")) }

// read returns what hack/runtime notes about the node's runtime.
func (c cluster) read(file string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.run(), file))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

const commandTimeout = 4 * time.Minute

// do runs a program and returns what it printed.
func (c cluster) do(program string, args ...string) (out, errw string, code int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		c.t.Fatalf("%s %v: %v", program, args, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// kubectl fails the test if kubectl does.
func (c cluster) kubectl(args ...string) string {
	c.t.Helper()
	out, errw, code := c.do("kubectl", args...)
	if code != 0 {
		c.t.Fatalf("kubectl %v: exit code %d\n%s%s", args, code, out, errw)
	}
	return out
}

// plugin runs podctl on every node, as kubectl does.
func (c cluster) plugin(args ...string) (out, errw string, code int) {
	c.t.Helper()
	return c.do(filepath.Join(c.dir, "kubectl-podctl"), append([]string{"--all-nodes"}, args...)...)
}

// onNode is an item of a list of the plugin.
type onNode struct {
	Node     string `json:"node"`
	Metadata struct {
		Namespace, Name string
	} `json:"metadata"`
	Name, Level, Evidence string
	NodeError             *fleet.Failure
}

func (c cluster) list(args ...string) (items []onNode) {
	c.t.Helper()
	out, errw, code := c.plugin(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), &items); err != nil {
		c.t.Fatalf("%v: exit code %d: %v\n%s%s", args, code, err, out, errw)
	}
	return items
}

// The DaemonSets of examples/fleet run in a real cluster, of the image that the
// project builds, and answer kubectl podctl through the API server.
func TestClusterRunsTheFleet(t *testing.T) {
	endpoint := os.Getenv("PODCTL_CLUSTER_RUNTIME")
	if endpoint == "" {
		t.Skip("needs a cluster: make fleet")
	}
	c := cluster{t, endpoint, t.TempDir()}
	t.Logf("the node's runtime: %s", c.read("kind"))
	c.builds()
	c.kubectl("apply", "-k", c.overlay())
	for _, name := range []string{"podctl-inspector", "podctl-observer"} {
		c.kubectl("-n", "podctl-system", "rollout", "status", "daemonset/"+name, "--timeout=3m")
	}
	c.kubectl("create", "-f", c.write("web.yaml", stubborn))
	c.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=3m")

	var names []string
	testutil.Eventually(t, 3*time.Minute, "the inspector lists the pods of the cluster", func() bool {
		names = nil
		for _, p := range c.list("pods") {
			names = append(names, p.Node+" "+p.Metadata.Namespace)
		}
		slices.Sort(names)
		return slices.Equal(names, []string{"node-1 default", "node-1 podctl-system", "node-1 podctl-system"})
	}, func() string { return fmt.Sprint(names) })
	c.kubeletAnswers()
	c.mayReadOnly()
	c.documentedRolesSuffice()
	if orphans := c.list("orphans"); len(orphans) > 0 {
		t.Errorf("orphans: %+v", orphans)
	}
	if out, errw, code := c.plugin("stop", "web"); code == 0 || !strings.Contains(out+errw, "read-only") {
		t.Errorf("stop: exit code %d\n%s%s", code, out, errw)
	}
	c.silentNodesAreNamed()

	c.preempts(false)
	c.kubectl("delete", "pod", "web", "--wait=false") // with a deletionTimestamp
	testutil.Eventually(t, 3*time.Minute, "the plugin lists the terminating pod", func() bool {
		rows := c.list("terminating")
		return len(rows) == 1 && rows[0].Metadata.Name == "web" && rows[0].Node == "node-1"
	})
	if orphans := c.list("orphans"); len(orphans) > 0 {
		t.Errorf("orphans while the cluster deletes a pod: %+v", orphans)
	}
	if out, errw, code := c.plugin("events"); code != 0 || !strings.Contains(out, "default/web") {
		t.Errorf("the inspector has recorded no event of web: exit code %d\n%s%s", code, out, errw)
	}
	text, _, _ := c.plugin("terminating")
	t.Logf("\n%s", text)
	c.preempts(true)
	c.kubeletAgrees()
	c.listensAtLoopback()
}

// listensAtLoopback asserts that the inspector of the base answers at the node's address
// alone, and with the component loopback at 127.0.0.1 alone, where the kubelet finds it
// ready and the plugin reaches it.
func (c cluster) listensAtLoopback() {
	c.t.Helper()
	node := c.kubectl("get", "node", "node-1", "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`)
	listens := func(host string, want bool) {
		c.t.Helper()
		answer, err := http.Get("http://" + net.JoinHostPort(host, "9911") + "/healthz")
		if err == nil {
			answer.Body.Close()
		}
		if (err == nil) != want {
			c.t.Errorf("the inspector answers at %s: %v, want %v: %v", host, err == nil, want, err)
		}
	}
	listens(node, true)
	listens("127.0.0.1", false)
	c.kubectl("apply", "-k", c.overlay("loopback"))
	c.kubectl("-n", "podctl-system", "rollout", "status", "daemonset/podctl-inspector", "--timeout=3m")
	listens(node, false)
	listens("127.0.0.1", true)
	if pods := c.list("pods"); !slices.ContainsFunc(pods, func(p onNode) bool { return p.Metadata.Namespace == "podctl-system" }) {
		c.t.Errorf("pods by way of an inspector at 127.0.0.1: %+v", pods)
	}
}

// kubeletAnswers asserts that the inspector reaches the kubelet's PodsAPI, or that its token
// admits it to an older kubelet, which refuses anonymous requests.
func (c cluster) kubeletAnswers() {
	c.t.Helper()
	for _, f := range c.list("doctor") {
		if f.Name == "kubelet.pods" {
			if f.Level != "ok" || !strings.Contains(f.Evidence, "/pods-api.sock ") && !strings.HasSuffix(f.Evidence, "with service account token") {
				c.t.Errorf("%s %s", f.Level, f.Evidence)
			}
			return
		}
	}
	c.t.Error("the doctor has no kubelet.pods")
}

// stubborn is a pod that takes its whole grace period.
const stubborn = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  terminationGracePeriodSeconds: 30
  containers:
  - name: c
    resources: {requests: {cpu: 100m}}
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'trap "" TERM; while true; do sleep 1d & wait; done']
`

func (c cluster) write(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// builds builds podctl, and loads its image into the node's runtime.
func (c cluster) builds() {
	c.t.Helper()
	binary := filepath.Join(c.dir, "kubectl-podctl")
	if err := live.Build(binary, "./cmd/podctl"); err != nil {
		c.t.Fatal(err)
	}
	img, err := image.Podctl(binary)
	if err != nil {
		c.t.Fatal(err)
	}
	archive := filepath.Join(c.dir, "image.tar")
	if err := image.SaveOCI(archive, image.PodctlName, img); err != nil {
		c.t.Fatal(err)
	}
	if out, errw, code := c.do("../../hack/runtime", "load", archive, "--name", filepath.Base(c.run())); code != 0 {
		c.t.Fatalf("load the image: %s%s", out, errw)
	}
}

// overlay is examples/fleet with components, the socket of the node's runtime, and
// directories of the test.
func (c cluster) overlay(components ...string) string {
	c.t.Helper()
	if strings.HasSuffix(c.read("kind"), "crio") {
		components = append(components, "crio")
	}
	copyDir(c.t, base, filepath.Join(c.dir, "fleet"))
	for i, name := range components {
		copyDir(c.t, filepath.Join(base, name), filepath.Join(c.dir, "fleet", name))
		components[i] = "../fleet/" + name
	}
	dir, state := filepath.Join(c.dir, "overlay"), filepath.Join(c.dir, "state")
	for _, d := range []string{dir, state} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
	c.write("overlay/kustomization.yaml", fmt.Sprintf(`
resources: [../fleet]
components: [%s]
patches:
- target: {kind: DaemonSet}
  patch: |
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: PODCTL_RUNTIME_ENDPOINT, value: %q}}
- target: {kind: DaemonSet, name: podctl-observer}
  patch: |
    - {op: replace, path: /spec/template/spec/volumes/0/hostPath/path, value: %[3]s}
    - {op: replace, path: /spec/template/spec/containers/0/volumeMounts/0/mountPath, value: %[3]s}
- target: {kind: DaemonSet, name: podctl-inspector}
  patch: |
    - {op: replace, path: /spec/template/spec/volumes/1/hostPath/path, value: %[4]s}
    - {op: replace, path: /spec/template/spec/containers/0/volumeMounts/1/mountPath, value: /host%[4]s}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: PODCTL_ROOT, value: %[4]s}}
`, strings.Join(components, ", "), c.endpoint, c.run(), state))
	return dir
}
