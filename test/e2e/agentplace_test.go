package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/test/live"
)

// agentPlace is a place with a directory of manifests.
type agentPlace struct {
	*place
	client *cri.Client
}

func withAgent(t *testing.T, rt *live.Instance) *agentPlace {
	t.Helper()
	a := &agentPlace{place: at(t, rt)}
	if err := os.Mkdir(a.path("manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if a.client, err = cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: rt.Endpoint}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.client.Close)
	return a
}

// agent starts one.
func (a *agentPlace) agent(args ...string) *process {
	a.t.Helper()
	return a.command("", exec.Command(binary, append(a.flags(), append([]string{"agent", "--manifests", a.path("manifests")}, args...)...)...))
}

// put writes a manifest as an editor does, in one step.
func (a *agentPlace) put(name, yaml string) {
	a.t.Helper()
	tmp := filepath.Join(a.path("manifests"), "."+name+".tmp")
	if err := os.WriteFile(tmp, []byte(yaml), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(a.path("manifests"), name)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agentPlace) remove(name string) {
	a.t.Helper()
	if err := os.Remove(filepath.Join(a.path("manifests"), name)); err != nil {
		a.t.Fatal(err)
	}
}

// sandboxes are the ready sandboxes' ids by the name of their pods.
func (a *agentPlace) sandboxes() map[string]string {
	a.t.Helper()
	pods, err := a.client.ListPods(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, p := range pods {
		if p.Running() {
			ids[p.Name] = p.Sandboxes[0].ID
		}
	}
	return ids
}

// wrote waits until containers have written these lines to /mark/NAME.
func (a *agentPlace) wrote(name string, lines ...string) {
	a.t.Helper()
	eventually(a.t, fmt.Sprintf("containers write %q to %s", lines, name),
		func() bool { return slices.Equal(a.marks(name), lines) },
		func() string { return fmt.Sprintf("they wrote %q", a.marks(name)) })
}

// holds waits until the runtime holds just the pods of these names.
// Where it holds none, no pod has a directory either.
func (a *agentPlace) holds(names ...string) {
	a.t.Helper()
	var got []string
	eventually(a.t, fmt.Sprintf("the runtime holds %q", names), func() bool {
		pods, err := a.client.ListPods(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		got = nil
		for _, p := range pods {
			got = append(got, p.Name)
		}
		slices.Sort(got)
		return slices.Equal(got, names) && (len(names) > 0 || a.empty())
	}, func() string { return fmt.Sprintf("it holds %q", got) })
}

// ends signals a process, waits for its exit and asserts the exit code.
func (p *process) ends(s syscall.Signal, code int) {
	p.t.Helper()
	p.signal(s)
	if got := p.wait(); got != code {
		out, errw := p.output()
		p.t.Errorf("exit %d, want %d\n%s%s", got, code, out, errw)
	}
}

// marking is a pod that writes to /mark/NAME when it starts and when it terminates.
func (a *agentPlace) marking(name, version string) string {
	return a.marked(name, fmt.Sprintf(`trap "echo down%s >> /mark/%s; exit 0" TERM; echo up%s >> /mark/%s; `+forever, version, name, version, name))
}

// control is the client of the agent's socket.
func (a *agentPlace) control() *control.Client {
	a.t.Helper()
	var (
		sockets []string
		found   []*control.Client
		conn    net.Conn
		err     error
	)
	eventually(a.t, "an agent listens", func() bool {
		if sockets, err = filepath.Glob(a.path("run") + "/*/*.sock"); err != nil || len(sockets) != 1 {
			return false
		}
		if found, err = control.Find(filepath.Dir(sockets[0]), nil); err != nil || len(found) != 1 {
			return false
		}
		if conn, err = net.Dial("unix", sockets[0]); err != nil {
			return false // it may be a killed predecessor's, whose name the agent has already
		}
		return conn.Close() == nil
	}, func() string { return fmt.Sprintf("%d live owners of %q: %v", len(found), sockets, err) })
	return found[0]
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
