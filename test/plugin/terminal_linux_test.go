package plugin

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
	terminal "github.com/podctl/podctl/test/pty"
	"github.com/podctl/podctl/testkit/clustertest"
)

// kubectl returns commands of kubectl podctl on a cluster with the node n1, on which sh
// stands for podctl.
func kubectl(t *testing.T) func(args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	program, config := filepath.Join(dir, "kubectl-podctl"), filepath.Join(dir, "config")
	if err := live.Build(program, "./cmd/podctl"); err != nil {
		t.Fatal(err)
	}
	s := clustertest.Start(clustertest.Options{Nodes: []clustertest.Node{{Name: "n1", Run: shell}}})
	t.Cleanup(s.Close)
	if err := s.WriteKubeconfig(config); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) *exec.Cmd {
		return exec.Command(program, append([]string{"--kubeconfig", config, "--node", "n1"}, args...)...)
	}
}

// shell runs a shell as a container's command is run: with a terminal of its own if it is
// to have one. Without, it prints a line and goes on.
func shell(s *clustertest.Session) int {
	if !s.TTY {
		_, _ = io.WriteString(s.Stdout, "running\n")
		<-s.Context.Done()
		return 0
	}
	cmd := exec.Command("sh")
	cmd.Env = append(os.Environ(), "PS1=# ")
	code, err := terminal.Serve(cmd, s.Stdin, s.Stdout, s.Sizes)
	if err != nil {
		return 99
	}
	return code
}

func TestPluginOnATerminal(t *testing.T) {
	podctl := kubectl(t)
	t.Run("size, keys and exit code pass through, and the mode is restored", func(t *testing.T) {
		term := terminal.Start(t, podctl("exec", "-it", "web", "--", "sh"))
		term.Until("# ")
		if got := term.Mode(); got == terminal.Normal {
			t.Errorf("the terminal passes no keys: %v", got)
		}
		for _, size := range []string{"24 80", "43 132"} {
			for term.Send("echo \"<$(stty size)>\"\r"); ; term.Send("echo \"<$(stty size)>\"\r") {
				if got := term.Until(">\r\n"); strings.Contains(got, "<"+size+">") {
					break
				}
			}
			term.Resize(132, 43)
		}
		// A child that has not yet executed its command ignores SIGINT as the shell does.
		term.Send("sh -c 'echo $((40+2)); exec sleep 97'\r")
		term.Until("42\r\n")
		term.Send(terminal.CtrlC)
		term.Until("# ")
		term.Send("exit 5\r")
		if code := term.Wait(); code != 5 || term.Mode() != terminal.Normal {
			t.Errorf("exit code %d, terminal %v", code, term.Mode())
		}
	})
	t.Run("Ctrl-C ends what has no end", func(t *testing.T) {
		term := terminal.Start(t, podctl("logs", "-f", "web"))
		term.Until("running")
		term.Send(terminal.CtrlC)
		if code := term.Wait(); code != 130 {
			t.Errorf("exit code %d", code)
		}
	})
}
