package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/podctl/podctl/internal/fleet"
)

// silentNodesAreNamed asserts that the plugin names a node without an inspector, and one
// whose kubelet hangs, and that an interrupt ends it.
func (c cluster) silentNodesAreNamed() {
	c.t.Helper()
	c.kubectl("create", "-f", c.write("node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node-2}\n"))
	why := map[string]fleet.Reason{}
	answer := func(args ...string) {
		clear(why)
		for _, item := range c.list(append(args, "pods")...) {
			if why[item.Node] = ""; item.NodeError != nil {
				why[item.Node] = item.NodeError.Reason
			}
		}
	}
	if answer(); len(why) != 2 || why["node-1"] != "" || why["node-2"] != fleet.NoInspector {
		c.t.Errorf("beside a node without an inspector: %v", why)
	}

	pid, err := strconv.Atoi(c.read("kubelet/pid"))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGSTOP)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			c.t.Error(err)
		}
	}()
	answer("--node-timeout", "2s")
	_, errw, code := c.plugin("--node-timeout", "2s", "pods")
	c.interrupted()
	if why["node-1"] != fleet.TimedOut || code != 3 || !strings.Contains(errw, "no answer from node-1: TimedOut") || !strings.Contains(errw, "2 of 2 nodes did not answer") {
		c.t.Errorf("while the kubelet is stopped: %v, exit code %d\n%s", why, code, errw)
	}
	c.kubectl("delete", "node", "node-2")
}

// interrupted asserts that Ctrl-C ends a command while a node hangs.
func (c cluster) interrupted() {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), filepath.Join(c.dir, "kubectl-podctl"), "--node", "node-1", "terminating")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	time.Sleep(time.Second) // it has connected
	began := time.Now()
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait() // the exit code says it
	if took := time.Since(began); took > time.Second || cmd.ProcessState.ExitCode() != 130 {
		c.t.Errorf("interrupted after %v: %v", took, cmd.ProcessState)
	}
}
