package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	terminal "github.com/podctl/podctl/test/pty"
	"github.com/podctl/podctl/testkit/clustertest"
)

// kubectl is kubectl podctl on a simulated cluster, whose nodes n1 and n2 are both the
// place.
func (in *inside) kubectl(t *testing.T) func(args ...string) *exec.Cmd {
	t.Helper()
	s := clustertest.Start(clustertest.Options{Nodes: []clustertest.Node{{Name: "n1", Run: in.inspect}, {Name: "n2", Run: in.inspect}}})
	t.Cleanup(s.Close)
	dir := t.TempDir()
	plugin, config := filepath.Join(dir, "kubectl-podctl"), filepath.Join(dir, "config")
	if err := errors.Join(os.Symlink(binary, plugin), s.WriteKubeconfig(config)); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) *exec.Cmd {
		return exec.Command(plugin, append([]string{"--kubeconfig", config}, args...)...)
	}
}

// inspect runs a command as the container of an inspector does, with a terminal of its own
// if it is to have one.
func (in *inside) inspect(s *clustertest.Session) int {
	cmd := in.cmd(s.Args[1:]...)
	if !s.TTY {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
		if err := cmd.Start(); err != nil {
			return 99
		}
		// What has no end ends with its session.
		defer context.AfterFunc(s.Context, func() { _ = cmd.Process.Kill() })()
		_ = cmd.Wait() // the exit code says it
		return cmd.ProcessState.ExitCode()
	}
	code, err := terminal.Serve(cmd, s.Stdin, s.Stdout, s.Sizes)
	if err != nil {
		return 99
	}
	return code
}

func TestKubectlPlugin(t *testing.T) {
	withPods(t, []insideCase{
		{"the lists of nodes are one list", func(t *testing.T, in *inside) {
			out, err := in.kubectl(t)("--all-nodes", "pods", "-l", "app=web", "-o", "json").Output()
			if err != nil {
				t.Fatal(err)
			}
			var items []struct {
				Node     string
				Metadata struct{ Name string }
			}
			if err := json.Unmarshal(out, &items); err != nil || len(items) != 2 || items[0].Node != "n1" || items[1].Node != "n2" || items[0].Metadata.Name != "web" {
				t.Errorf("%v: %s", err, out)
			}
		}},
		{"streams and the exit code pass through", func(t *testing.T, in *inside) {
			cmd := in.kubectl(t)("--node", "n1", "exec", "web/c", "--", "sh", "-c", "printf 'a\\000b'; exit 7")
			if out, _ := cmd.Output(); !slices.Equal(out, []byte("a\x00b")) || cmd.ProcessState.ExitCode() != 7 {
				t.Errorf("%q, exit code %d", out, cmd.ProcessState.ExitCode())
			}
		}},
		{"a terminal passes through two of them", func(t *testing.T, in *inside) {
			term := terminal.Start(t, in.kubectl(t)("--node", "n1", "exec", "-it", "web/c", "--", "sh"))
			term.Until("# ")
			for got := ""; !strings.Contains(got, "24 80\r"); got = term.Until("# ") { // CRI-O's monitor sometimes writes a second one
				term.Send("stty size\r")
			}
			// A child that has not yet executed its command ignores SIGINT as the shell does.
			term.Send("sh -c 'echo $((40+2)); exec sleep 97'\r")
			term.Until("42\r")
			if got := term.Mode(); got == terminal.Normal {
				t.Errorf("the terminal passes no keys: %v", got)
			}
			term.Send(terminal.CtrlC)
			term.Until("# ")
			term.Send("exit 5\r")
			if code := term.Wait(); code != 5 || term.Mode() != terminal.Normal {
				t.Errorf("exit code %d, terminal %v", code, term.Mode())
			}
		}},
		{"Ctrl-C ends what has no end", func(t *testing.T, in *inside) {
			term := terminal.Start(t, in.kubectl(t)("--node", "n1", "pods", "--watch"))
			term.Until("default/web")
			term.Send(terminal.CtrlC)
			if code := term.Wait(); code != 130 {
				t.Errorf("exit code %d", code)
			}
		}},
	})
}
