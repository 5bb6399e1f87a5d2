package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live"
)

const busybox = "docker.io/library/busybox:latest"

// debuggers are the names of the runtime's containers that debug created.
func (in *inside) debuggers(t *testing.T) (names []string) {
	t.Helper()
	list, err := dialBare(t, in.rt).Runtime.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Containers {
		if c.Labels["podctl.io/debug"] != "" {
			names = append(names, c.Metadata.Name)
		}
	}
	return names
}

// logOf is the log of the container of that name, "" without one.
func (in *inside) logOf(t *testing.T, name string) string {
	t.Helper()
	client := dialBare(t, in.rt)
	list, err := client.Runtime.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Containers {
		if c.Metadata.Name != name {
			continue
		}
		s, err := client.Runtime.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: c.Id})
		if err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(s.Status.LogPath) // there may be none yet
		return string(data)
	}
	return ""
}

func TestDebug(t *testing.T) {
	withPods(t, []insideCase{
		{"in a pod of podctl's it is an ephemeral container of the pod", func(t *testing.T, in *inside) {
			out, errw, code := in.does(t, "debug", "web", "--image", busybox, "--target", "c", "-c", "tools", "--", "sh", "-c", "cat /proc/1/cmdline; wget -qO- 127.0.0.1:8080")
			if code != 0 || out != "" || !strings.Contains(errw, "default/web/tools was started") {
				t.Errorf("%q, %q, exit code %d", out, errw, code)
			}
			eventually(t, "it has seen the processes of c and reached its server", func() bool {
				log := in.logOf(t, "tools")
				return strings.Contains(log, "httpd -p 8080") && strings.Contains(log, "hello")
			}, func() string { return in.logOf(t, "tools") })
			if _, errw, code := in.does(t, "debug", "web", "--image", busybox, "-c", "tools"); code != 1 || !strings.Contains(errw, "Duplicate value") {
				t.Errorf("the same name again: %q, exit code %d", errw, code)
			}
			if _, errw, code := in.does(t, "debug", "web", "--image", busybox, "--target", "nosuch"); code != 1 || !strings.Contains(errw, "targetContainerName") {
				t.Errorf("no such target: %q, exit code %d", errw, code)
			}
		}},
		{"its terminal is the local one", func(t *testing.T, in *inside) {
			term := in.terminal(t, "debug", "-it", "web", "--image", busybox, "--target", "c", "--", "sh")
			term.Until("# ")
			term.Send("wget -qO- 127.0.0.1:8080\r")
			term.Until("hello\r\n")
			term.Send("exit 4\r")
			if code := term.Wait(); code != 4 {
				t.Errorf("exit code %d", code)
			}
		}},
		{"in another pod it is podctl's own, and is removed", func(t *testing.T, in *inside) {
			out, errw, code := in.does(t, "debug", "bare", "--image", busybox, "--target", "c", "--", "sh", "-c", "ps; echo err >&2; exit 3")
			if !strings.Contains(out, "sleep 600\n") || !strings.Contains(errw, "err\n") || code != 3 {
				t.Errorf("%q, %q, exit code %d", out, errw, code)
			}
			cmd := in.cmd("debug", "-i", "-q", "bare", "--image", busybox, "--", "cat")
			var stdout bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("through\n"), &stdout, os.Stderr
			if err := cmd.Run(); err != nil || stdout.String() != "through\n" {
				t.Errorf("%q, %v", stdout.String(), err)
			}
			if left := in.debuggers(t); len(left) > 0 {
				t.Errorf("left in the runtime: %v", left)
			}
		}},
		{"Ctrl-C removes it, too", func(t *testing.T, in *inside) {
			cmd := in.cmd("debug", "bare", "--image", busybox, "--", "sleep", "600")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "it is there", func() bool { return len(in.debuggers(t)) == 1 }, func() string { return "it is not" })
			began := time.Now()
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code %d: %s", code, out.String())
			}
			if left := in.debuggers(t); len(left) > 0 {
				t.Errorf("left after %v: %v\n%s", time.Since(began), left, out.String())
			}
		}},
		{"a private image is pulled with the user's credentials", func(t *testing.T, in *inside) {
			registry := live.Registry(t, "tools:1")
			registry.RequirePassword("me", secretValue)
			auth := base64.StdEncoding.EncodeToString([]byte("me:" + secretValue))
			file := in.write("config.json", fmt.Sprintf(`{"auths": {"%s": {"auth": "%s"}}}`, registry.Addr, auth), 0o600)
			args := []string{"debug", "bare", "--image", registry.Image("tools:1"), "--registry-config"}
			if out, errw, code := in.does(t, append(args, "none", "--", "echo", "pulled")...); code != 1 || out != "" {
				t.Errorf("without credentials: exit code %d\n%s%s", code, out, errw)
			}
			if out, errw, code := in.does(t, append(args, file, "--", "echo", "pulled")...); code != 0 || out != "pulled\n" || strings.Contains(errw, secretValue) {
				t.Errorf("exit code %d\n%s%s", code, out, errw)
			}
			args[1] = "web"
			if _, errw, code := in.does(t, append(args, file, "--", "true")...); code != 2 || !strings.Contains(errw, "with its own credentials") {
				t.Errorf("a pod of podctl's: exit code %d\n%s", code, errw)
			}
		}},
		{"an image that is not there is an error", func(t *testing.T, in *inside) {
			for _, name := range []string{"web", "bare"} {
				if _, errw, code := in.does(t, "debug", name, "--image", "registry.invalid/nosuch:1"); code != 1 || !strings.Contains(errw, "registry.invalid") {
					t.Errorf("%s: %q, exit code %d", name, errw, code)
				}
			}
		}},
	})
}
