package pty

import (
	"os/exec"
	"slices"
	"testing"
)

func shell(script string) *exec.Cmd { return exec.Command("sh", "-c", script) }

func TestCommandSeesTerminalSize(t *testing.T) {
	term := Start(t, shell(`test -t 0 && test -t 1 && stty size; read line; stty size; exit 3`))
	term.Until("24 80\r\n")
	term.Resize(132, 43)
	term.Send(Enter)
	term.Until("43 132\r\n")
	if code := term.Wait(); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
}

func TestCtrlCInterruptsTheCommand(t *testing.T) {
	term := Start(t, shell(`trap "echo interrupted; exit 7" INT; echo ready; while :; do sleep 0.05; done`))
	term.Until("ready")
	term.Send(CtrlC)
	term.Until("interrupted")
	if code := term.Wait(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}

func TestScreenAppliesEscapes(t *testing.T) {
	term := Start(t, shell(`printf 'old\033[H\033[2Jnew\nsecond  \n'`))
	term.Wait()
	if got, want := term.Screen(), []string{"new", "second"}; !slices.Equal(got, want) {
		t.Errorf("screen %q, want %q", got, want)
	}
}

func TestUntilContinuesAfterMatch(t *testing.T) {
	term := Start(t, shell(`echo one; echo two; echo one`))
	for _, text := range []string{"one", "two", "one"} {
		term.Until(text)
	}
	term.Wait()
}
