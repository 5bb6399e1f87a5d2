package pty

import "testing"

func TestModeOfRawTerminal(t *testing.T) {
	term := Start(t, shell(`echo before; read line; stty raw -echo; echo raw; head -c1 >/dev/null; stty sane`))
	term.Until("before")
	if got := term.Mode(); got != Normal {
		t.Errorf("before: %v", got)
	}
	term.Send(Enter)
	term.Until("raw")
	if got := term.Mode(); got != (Mode{}) {
		t.Errorf("raw: %v", got)
	}
	term.Send("x")
	term.Wait()
	if got := term.Mode(); got != Normal {
		t.Errorf("after: %v", got)
	}
}
