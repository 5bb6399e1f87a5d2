package guest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/testkit/testutil"
)

// timeout is how long a test waits for anything: a guest without KVM on a busy machine is slow.
const timeout = 10 * time.Minute

// vm returns a command of hack/vm for the guest.
func vm(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	name := os.Getenv("PODCTL_GUEST")
	if name == "" {
		t.Skip("live test: needs a guest, as hack/vm-test node starts it")
	}
	return exec.Command("../../hack/vm", append([]string{"--name", name}, args...)...)
}

// try runs a script in the guest and returns its output, with its errors.
func try(t *testing.T, script string) (string, error) {
	t.Helper()
	cmd := vm(t, "run", "bash", "-s")
	cmd.Stdin = strings.NewReader("set -e\n" + script)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// sh runs a script in the guest, logs it with its output and returns that. An error fails the test.
func sh(t *testing.T, script string) string {
	t.Helper()
	out, err := try(t, script)
	t.Logf("# %s\n%s", strings.ReplaceAll(strings.TrimSpace(script), "\n", "\n# "), out)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eventually waits until the output of a script is the wanted one, and returns how long that took.
func eventually(t *testing.T, script, want string) time.Duration {
	t.Helper()
	began, last := time.Now(), ""
	testutil.Eventually(t, timeout, fmt.Sprintf("%s prints %q", script, want), func() bool {
		var err error
		last, err = try(t, script)
		return err == nil && last == want
	}, func() string { return last })
	took := time.Since(began).Round(100 * time.Millisecond)
	t.Logf("# %s\n%s\n(after %s)", script, last, took)
	return took
}

// service makes the distribution's containerd the node's, with the driver, and with images.
func service(t *testing.T, driver string) {
	t.Helper()
	out, err := try(t, fmt.Sprintf(`
mkdir -p /etc/containerd /etc/cni/net.d
cat >/etc/containerd/config.toml <<X
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "podctl.local/pause:1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = %t
X
cat >/etc/cni/net.d/10-pods.conflist <<X
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
 {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
 {"type": "portmap", "capabilities": {"portMappings": true}}]}
X
sysctl -q -w net.ipv4.ip_forward=1
systemctl restart containerd
for image in pause busybox; do ctr -n k8s.io images import /disk/cache/podctl/images/$image.tar >/dev/null; done`, driver == "systemd"))
	if err != nil {
		t.Fatalf("containerd with the driver %s: %v\n%s", driver, err, out)
	}
}

// manifest is a pod of one container.
const manifest = `apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: c
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'trap "exit 0" TERM; while true; do sleep 1d & wait; done']
    resources: {limits: {memory: 32Mi}}
`

// phase is a script that prints the phase of a pod.
func phase(name string) string {
	return fmt.Sprintf(`podctl pods %s -o jsonpath='{range [*]}{.phase}{"\n"}{end}'`, name)
}

// ids is a script that prints the pods of the agent with the ids of their containers.
const ids = `podctl ps -o jsonpath='{range [*]}{.metadata.name} {.id}{"\n"}{end}' | sort`

// running is a script that prints the phases of all pods, and how many have one.
const running = `podctl pods -o jsonpath='{range [*]}{.phase}{"\n"}{end}' | sort | uniq -c | xargs`

// node installs the package, and has its unit run six pods. They start one after the other: where
// a start takes longer than the deadline of its call when there are six, none ever ends.
func node(t *testing.T) {
	t.Helper()
	if out, _ := try(t, running); out == "6 Running" {
		return
	}
	service(t, "systemd")
	sh(t, `
dpkg -s podctl >/dev/null 2>&1 || dpkg -i /disk/dist/podctl_*_amd64.deb
mkdir -p /etc/podctl/manifests
systemctl enable --now podctl-agent
systemctl is-active podctl-agent`)
	for i := range 6 {
		name := fmt.Sprint("web-", i)
		if out, err := try(t, fmt.Sprintf("cat >/etc/podctl/manifests/%s.yaml <<'X'\n%sX\n", name, strings.Replace(manifest, "NAME", name, 1))); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		eventually(t, phase(name), "Running")
	}
	eventually(t, running, "6 Running")
}
