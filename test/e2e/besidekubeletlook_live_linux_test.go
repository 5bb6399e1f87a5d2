package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"

	"github.com/podctl/podctl/test/pty"
)

// looksInside: the commands that look inside work on a static pod of the kubelet's by
// its name, and leave all of its pods as they are.
func (k *kubeletPlace) looksInside() {
	name := "web" + k.node
	file := k.path("copied")
	defer os.Remove(file)
	k.unharmed("looking inside", func() {
		for _, c := range []struct {
			args []string
			want string // in what it prints
		}{
			{[]string{"logs", name}, "up\n"},
			{[]string{"exec", name, "--", "echo", "from inside"}, "from inside\n"},
			{[]string{"describe", name}, name},
			{[]string{"top", "pods", name, "-o", "jsonpath={[0].metadata.name}"}, name},
			{[]string{"top", "containers", name, "-o", "jsonpath={[0].metadata.name}"}, name},
			{[]string{"describe", name, "-o", "jsonpath={[0].owner.kind} {[0].spec.from}"}, "kubelet kubelet"},
			{[]string{"images", "-o", "jsonpath={[*].usedBy[*].pod}"}, name},
			{[]string{"exec", "-i", name, "--", "echo", "streamed"}, "streamed\n"},
			{[]string{"inspect", name, "-o", "jsonpath={.sandboxes[0].status.metadata.name}"}, name},
			{[]string{"wait", name, "--for=condition=Ready", "--timeout=2m"}, name + ": condition=Ready\n"},
			{[]string{"wait", name, "--for=condition=Initialized", "--timeout=2m"}, name + ": condition=Initialized\n"},
			{[]string{"cp", name + ":/etc/hosts", file}, ""},
			{[]string{"__complete", "--timeout=10s", "--", "logs", "web"}, name + "\trunning\n"},
		} {
			out, errw, code := k.podctl(c.args...)
			if code != 0 || !strings.Contains(out, c.want) {
				k.t.Errorf("podctl %q: exit code %d, want %q\n%s%s", c.args, code, c.want, out, errw)
			}
		}
		if hosts, err := os.ReadFile(file); err != nil || !strings.Contains(string(hosts), "localhost") {
			k.t.Errorf("cp: %v\n%s", err, hosts)
		}
		// The conditions are those of the kubelet's own status.
		out, errw, code := k.podctl("wait", name, "--for=condition=Ready", "-o", "json")
		var got struct {
			Met  bool
			Seen string
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || !got.Met || got.Seen != "Ready is True" {
			k.t.Errorf("wait: %v, exit code %d\n%s%s", err, code, out, errw)
		}
		k.connects(name)
	})
}

// connects: attach and port-forward reach a static pod of the kubelet's, and leave it.
func (k *kubeletPlace) connects(name string) {
	k.t.Helper()
	in := &inside{k.place}
	term := in.terminal(k.t, "attach", name)
	term.Until("attached to default/" + name)
	term.Send(pty.CtrlC)
	if code := term.Wait(); code != 130 {
		k.t.Errorf("attach: exit code %d\n%s", code, term.Output())
	}
	const serve = "mkdir /www; echo hello >/www/index.html; httpd -p 8080 -h /www"
	if _, errw, code := k.podctl("exec", name, "--", "sh", "-c", serve); code != 0 {
		k.t.Fatalf("exit code %d\n%s", code, errw)
	}
	p, address := in.forwards(k.t, name, ":8080")
	if body, err := page(address); err != nil || body != "hello\n" {
		k.t.Errorf("port-forward: %q, %v", body, err)
	}
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 130 {
		k.t.Errorf("port-forward: exit code %d", code)
	}
}
