package e2e

import (
	"bytes"
	"strings"
	"testing"
	"time"
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
