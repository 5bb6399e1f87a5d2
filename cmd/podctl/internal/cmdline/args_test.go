package cmdline

import "testing"

func TestArgsOfACommandLineAlone(t *testing.T) {
	c := &Command{Name: "trace", Args: Args{Rest: MayProgram}}
	if got := c.ArgsUsage(); got != "[-- COMMAND [ARGUMENT …]]" {
		t.Errorf("usage %q", got)
	}
	if err := c.CheckArgs([]string{"--", "crictl", "ps"}); err != nil {
		t.Error(err)
	}
	if err := (&Command{Name: "version"}).CheckArgs([]string{"x"}); err == nil {
		t.Error("an argument of a command without arguments is accepted")
	}
}
