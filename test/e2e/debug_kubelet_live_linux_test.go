package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A kubelet leaves a container of podctl debug in its pod alone and its pod as it
// is; it still terminates the pod while such a container runs.
func TestDebugKubeletPod(t *testing.T) {
	k := startKubelet(t, "node-d", "--hostname-override=node-d")
	web := "web" + k.node
	k.unharmed("debug of 15 s", func() {
		out, errw, code := k.podctl("debug", web, "--image", busybox, "--target", "c", "--", "sh", "-c", "sleep 15; ps; exit 6")
		if code != 6 || !strings.Contains(out, "sleep 1d") {
			t.Errorf("%q, %q, exit code %d", out, errw, code)
		}
	})
	t.Run("a copy of it", func(t *testing.T) { k.in(t).copies(web) })
	cmd := k.cmd("debug", web, "--image", busybox, "--", "sleep", "600")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := &inside{k.place}
	eventually(t, "the debugger runs", func() bool { return len(in.debuggers(t)) == 1 }, out.String)
	began := time.Now()
	k.kubelet.RemoveStatic(t, "web.yaml")
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code == 0 {
		t.Errorf("debug exited with 0: %s", out.String())
	}
	eventually(t, "the kubelet's pod is gone", func() bool {
		_, there := k.containers()[web]
		return !there && !strings.Contains(strings.Join(k.sandboxes(), "\n"), web+" ") || time.Since(began) > timeout
	}, func() string { return strings.Join(k.sandboxes(), "\n") })
	t.Logf("the kubelet's pod was gone after %v; debug said %s", time.Since(began), out.String())
	if left := in.debuggers(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// copies: debug --copy-to makes a copy of a kubelet's pod as the kubelet shows it. To
// run it beside the kubelet is refused without a flag, because the kubelet terminates
// it; with the flag it is started, and nothing of it is left. The kubelet's pods stay.
func (k *kubeletPlace) copies(name string) {
	copied := "copied" + k.node
	args := func(more ...string) []string {
		return append([]string{"debug", name, "--copy-to", copied, "--image", busybox, "-c", "tools"}, append(more, "--", "sleep", "600")...)
	}
	k.unharmed("a copy of a pod", func() {
		out, errw, code := k.podctl(args("-o", "json")...)
		var p v1.Pod
		if err := json.Unmarshal([]byte(out), &p); err != nil || code != 0 || errw != "" {
			k.t.Fatalf("manifest: %v, exit code %d\n%s%s", err, code, out, errw)
		}
		if c := p.Spec.Containers; p.Name != copied || p.UID != "" || p.Spec.NodeName != "" || len(p.Annotations) > 0 ||
			len(c) != 2 || c[0].Name != "c" || c[1].Name != "tools" || c[1].Image != busybox {
			k.t.Errorf("manifest:\n%s", out)
		}
		out, errw, code = k.podctl(args()...)
		if code != 1 || !strings.Contains(errw, "a kubelet (") || !strings.Contains(errw, "--beside-kubelet") {
			k.t.Errorf("without --beside-kubelet: exit code %d\n%s%s", code, out, errw)
		}
		k.runsCopy(copied, args("--beside-kubelet"))
	})
}

// runsCopy runs the copy of a pod until its new container has started, and interrupts it.
func (k *kubeletPlace) runsCopy(copied string, args []string) {
	k.t.Helper()
	printed, err := os.Create(k.path("copy.out"))
	if err != nil {
		k.t.Fatal(err)
	}
	defer printed.Close()
	read := func() string { b, _ := os.ReadFile(printed.Name()); return string(b) }
	cmd := k.cmd(args...)
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	eventually(k.t, "the container of the copy starts", func() bool { return strings.Contains(read(), "tools started") }, read)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		k.t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		k.t.Errorf("exit code %d\n%s", code, read())
	}
	if left := strings.Join(k.sandboxes(), "\n"); strings.Contains(left, copied) {
		k.t.Errorf("left:\n%s", left)
	}
}
