package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// A pod is named by what the kernel and the runtime show of it on this host.
func TestPodsNamedByProperties(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		mapped, shared := freePort(t), freePort(t)
		web := p.start(strings.Replace(p.marked("web", `echo up >> /mark/web; `+obedient, brief),
			"command:", fmt.Sprintf("ports: [{containerPort: 80, hostPort: %d}]\n    command:", mapped), 1), "-")
		host := p.start(p.marked("host", fmt.Sprintf("exec httpd -f -p %d", shared), brief, "hostNetwork: true"), "-")
		web.prints("c started")
		host.prints("c started")

		id := strings.TrimSpace(p.does("ps", "-q", "web/c"))
		pid, err := strconv.Atoi(p.does("inspect", "web", "-c", "c", "-o", "jsonpath={.containers[0].info.pid}"))
		if err != nil {
			t.Fatal(err)
		}
		proc := func(name string) string {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		stat := strings.Fields(proc("stat"))
		cgroup := ""
		for line := range strings.Lines(proc("cgroup")) {
			if path := strings.TrimSpace(line[strings.LastIndex(line, ":")+1:]); len(path) > len(cgroup) {
				cgroup = path
			}
		}
		ip := "" // which the status has a moment after the start
		eventually(t, "web has an address", func() bool {
			ip = p.does("pods", "web", "-o", "jsonpath={[0].ips[0]}")
			return ip != ""
		}, func() string { return p.does("pods", "-o", "yaml") })
		for word, want := range map[string]string{
			"pid:" + strconv.Itoa(pid): "web", "pid:" + stat[3]: "web", "cgroup:" + cgroup: "web", "container:" + id[:12]: "web",
			"ip:" + ip: "web", "ip:::ffff:" + ip: "web", fmt.Sprintf("port:%d", mapped): "web", fmt.Sprintf("port:%d", shared): "host",
			"cgroup:" + filepath.Dir(cgroup): "web",
		} {
			if got := p.does("pods", word, "-o", "name"); got != "default/"+want+"\n" {
				t.Errorf("%s: %q, want %s", word, got, want)
			}
		}
		if got := p.does("ps", "pid:"+strconv.Itoa(pid), "-q"); got != id+"\n" {
			t.Errorf("the container of pid %d: %q, want %s", pid, got, id)
		}
		addresses, err := net.InterfaceAddrs()
		if err != nil || len(addresses) == 0 {
			t.Fatal(addresses, err)
		}
		node, _, _ := strings.Cut(addresses[0].String(), "/")
		for word, want := range map[string]string{
			fmt.Sprintf("pid:%d", os.Getpid()): "is of no pod of this runtime", "ip:" + node: "which its pods with hostNetwork share: default/host",
			"port:1": "the runtime forwards port 1 to no pod", "cgroup:/": "is of no pod of this runtime", "container:ffffffff": "no container has an id",
			"cgroup:/another" + filepath.Dir(cgroup): "is of no pod of this runtime",
		} {
			if out, errw, code := p.podctl("stop", word); code != 1 || out != "" || !strings.Contains(errw, want) {
				t.Errorf("%s: exit code %d, %q, want %q", word, code, out+errw, want)
			}
		}
		p.does("stop", "pid:"+strconv.Itoa(pid))
		web.wait() // it has nothing left to run
		host.ends(syscall.SIGINT, exitInterrupted)
	})
}
