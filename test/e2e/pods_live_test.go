package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
)

func TestHostNamespaces(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		script := `echo "net=$(readlink /proc/self/ns/net)"; echo "pid=$(readlink /proc/self/ns/pid)"; echo "ipc=$(readlink /proc/self/ns/ipc)"; echo "name=$(hostname)"`
		out, errw, code := at(t, rt).run(pod("host", script, never, "hostNetwork: true", "hostPID: true", "hostIPC: true"), "--logs", "-")
		if code != 0 || errw != "" {
			t.Fatalf("exit %d\n%s%s", code, out, errw)
		}
		name, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		for _, ns := range []string{"net", "pid", "ipc"} {
			own, err := os.Readlink("/proc/self/ns/" + ns)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out, "| "+ns+"="+own+"\n") {
				t.Errorf("not in the host's %s namespace:\n%s", ns, out)
			}
		}
		if !strings.Contains(out, "| name="+name+"\n") {
			t.Errorf("not of the host's name:\n%s", out)
		}
	})
}

func TestHostPortIsReachedFromTheHost(t *testing.T) {
	if exec.Command("iptables", "-w", "-t", "nat", "-S").Run() != nil {
		t.Skip("the host has no iptables that work, which portmap needs")
	}
	each(t, func(t *testing.T, rt *live.Instance) {
		port := freePort(t)
		yaml := strings.Replace(pod("web", "while true; do echo hello from inside | nc -l -p 8080; done", brief),
			"command:", fmt.Sprintf("ports: [{containerPort: 8080, hostPort: %d}]\n    command:", port), 1)
		p := at(t, rt).start(yaml, "-")
		p.prints("c started")
		address := "127.0.0.1"
		if strings.HasPrefix(rt.Kind, live.CRIO) { // its rules do not translate the loopback source address
			address = ownAddress(t)
		}
		eventually(t, "the host port answers", func() bool {
			return ask(fmt.Sprintf("%s:%d", address, port)) == "hello from inside\n"
		}, func() string { out, errw := p.output(); return out + errw })
		p.signal(syscall.SIGINT)
		if code := p.wait(); code != 130 {
			t.Errorf("exit %d", code)
		}
	})
}

// ownAddress is an IPv4 address of this host that is not a loopback one.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Fatalf("this host has no address but %v", addresses)
	return ""
}

// ask returns what a server sends first, "" if it sends nothing.
func ask(address string) string {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return ""
	}
	said, _ := io.ReadAll(c)
	return string(said)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestContainersShareEmptyDir(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		mount := "volumeMounts: [{name: shared, mountPath: /shared}]\n    command:"
		yaml := strings.Replace(pod("pair", `while ! cat /shared/letter 2>/dev/null; do sleep 0.1; done`, never, "volumes: [{name: shared, emptyDir: {}}]"), "command:", mount, 1)
		writer := strings.Replace(container("writer", "echo a letter > /shared/.new; mv /shared/.new /shared/letter"), "command:", mount, 1)
		out, errw, code := at(t, rt).run(strings.Replace(yaml, "---\n", writer+"---\n", 1), "--logs", "-")
		if code != 0 || errw != "" || !strings.Contains(out, "pair/c | a letter\n") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}

// The runtime may know that a container died before it knows why: the pod lives on
// until its status says it.
// The cause is the kernel's word: containerd 1.7 may miss the event of cgroup v2, and reports the
// reason Error then.
func TestOOMKilledContainerIsReported(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		yaml := p.marked("glutton", "until [ -e /mark/end ]; do sleep 0.1; done", never)
		glutton := container("c2", "tail /dev/zero")
		yaml = strings.Replace(yaml, "---\n", strings.Replace(glutton, "command:", "resources: {limits: {memory: 16Mi}}\n    command:", 1)+"---\n", 1)
		proc := p.start(yaml, "-")
		var status string
		eventually(t, "the status says out of memory", func() bool {
			status, _, _ = p.podctl("describe", "glutton")
			return strings.Contains(status, "OOMKilled") || strings.Contains(status, "killed by the kernel: out of memory at its limit of 16Mi")
		}, func() string { return status })
		p.mark("end")
		code := proc.wait()
		if out, errw := proc.output(); code != 1 || !strings.Contains(errw, "c2 exited 137") || strings.Contains(status, "OOMKilled") != strings.Contains(errw, "OOMKilled") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}
