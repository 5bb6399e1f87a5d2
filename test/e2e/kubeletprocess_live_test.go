package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// kubeletEnv makes this very test binary a kubelet: a process of that name
// that is connected to a socket, and says so.
const kubeletEnv = "PODCTL_E2E_KUBELET"

// beKubelet is what the child does.
func beKubelet(socket string) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		os.Exit(1)
	}
	if _, err := os.Stdout.WriteString("connected\n"); err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
	c.Close()
	os.Exit(0)
}

// kubelet starts one on the runtime's socket, with flags that podctl reads.
func (p *place) kubelet(flags ...string) {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	path := filepath.Join(p.dir, "kubelet")
	if err := os.Symlink(self, path); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(path, flags...)
	cmd.Env = append(os.Environ(), kubeletEnv+"="+strings.TrimPrefix(p.endpoint, "unix://"))
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { in.Close(); cmd.Wait() })
	if _, err := out.Read(make([]byte, 16)); err != nil {
		p.t.Fatalf("the kubelet did not connect: %v", err)
	}
}

func TestRunBesideKubeletNeedsFlag(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		p.kubelet()
		out, errw, code := p.run(pod("job", "true", never), "-")
		if code != 1 || out != "" || !strings.Contains(errw, "a kubelet (") || !strings.Contains(errw, "--beside-kubelet") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		if out, errw, code = p.run(pod("job", "true", never), "--beside-kubelet", "-"); code != 0 || errw != "" {
			t.Errorf("--beside-kubelet: exit %d\n%s%s", code, out, errw)
		}
	})
}

// A kubelet on another socket does not concern this runtime.
func TestKubeletOnAnotherSocket(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		p.proxied()
		p.kubelet() // on the proxy's
		p.endpoint = rt.Endpoint
		if out, errw, code := p.run(pod("job", "true", never), "-"); code != 0 || errw != "" {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}
