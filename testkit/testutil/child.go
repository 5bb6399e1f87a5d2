package testutil

import (
	"bufio"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Child starts a process that prints a line when it is ready and exits when its input
// is closed. It returns the line, and what closes the input and waits, which happens at
// the end of the test at the latest.
func Child(t testing.TB, cmd *exec.Cmd) (line string, end func() error) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceValue(func() error {
		_ = in.Close() // it may have exited
		return cmd.Wait()
	})
	t.Cleanup(func() { _ = end() })
	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%s: %q, %v", cmd.Args[0], line, err)
	}
	return strings.TrimSpace(line), end
}
