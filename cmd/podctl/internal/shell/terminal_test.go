package shell

import (
	"bytes"
	"os"
	"testing"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
)

// Output that never blocks is no pipe if it goes to a terminal.
func TestATerminalIsFoundBelowOutputThatNeverBlocks(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer f.Close()
	if Terminal(f) == nil {
		t.Skip("the master of a pseudo-terminal is no terminal here")
	}
	if u := (&Env{Out: f, Errw: f}).Unblocked(); Terminal(output.Raw(u.Errw)) == nil || ToUser(u.Out) != u.Out {
		t.Error("a terminal is taken for a pipe")
	}
	var buffer bytes.Buffer
	if u := (&Env{Out: &buffer, Errw: &buffer}).Unblocked(); Terminal(output.Raw(u.Errw)) != nil || ToUser(u.Out) == u.Out {
		t.Error("a buffer is taken for a terminal")
	}
}
