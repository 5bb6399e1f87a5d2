package pty

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"sync"

	"github.com/creack/pty"
)

// Serve runs a command as a container's terminal session is run: on a terminal of its
// own, with the input, the output, and sizes as the CRI's streams encode them. It
// returns the exit code.
func Serve(cmd *exec.Cmd, stdin io.Reader, stdout io.Writer, sizes <-chan string) (code int, err error) {
	control, err := pty.Start(cmd)
	if err != nil {
		return 0, err
	}
	defer control.Close()
	var resizing sync.WaitGroup
	defer resizing.Wait() // before control is closed
	ended := make(chan struct{})
	defer close(ended)
	resizing.Go(func() {
		for {
			var text string
			select {
			case next, more := <-sizes:
				if !more {
					return
				}
				text = next
			case <-ended:
				return
			}
			var size struct{ Width, Height uint16 }
			if json.Unmarshal([]byte(text), &size) == nil {
				_ = pty.Setsize(control, &pty.Winsize{Cols: size.Width, Rows: size.Height})
			}
		}
	})
	go func() { _, _ = io.Copy(control, stdin) }()
	_, _ = io.Copy(stdout, control) // EIO: no process has the terminal
	var exited *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exited) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}
