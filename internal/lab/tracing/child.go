package tracing

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// ExitError is the exit code of the command, not 0.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// child is the command that is traced; nil is none.
type child struct {
	cmd *exec.Cmd
	// done is closed once it has exited, and err is set: nil, or an error with its exit code.
	done chan struct{}
	err  error
	// onTerminal: the terminal sends it the user's Ctrl-C.
	onTerminal  bool
	interrupted bool
}

// startChild starts a command with the streams of the trace.
func startChild(o *Options, environment []string) (*child, error) {
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment, o.In, o.Out, o.Err
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Command[0], errors.Unwrap(err))
	}
	in, isFile := o.In.(*os.File)
	c := &child{cmd: cmd, done: make(chan struct{}), onTerminal: isFile && term.IsTerminal(int(in.Fd()))}
	go func() {
		defer close(c.done)
		err := cmd.Wait()
		exit, exited := errors.AsType[*exec.ExitError](err)
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		switch {
		case exited && status.Signaled():
			c.err = &ExitError{signaled + int(status.Signal())}
		case exited:
			c.err = &ExitError{exit.ExitCode()}
		default:
			c.err = err
		}
	}()
	return c, nil
}

// signaled is added to the number of the signal that ended a process, as shells do.
const signaled = 128

// ended is closed once the command has exited.
func (c *child) ended() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.done
}

// interrupt passes a signal on, the second time SIGKILL.
func (c *child) interrupt(signal os.Signal) {
	switch {
	case c == nil:
	case c.interrupted:
		c.kill()
	default:
		c.interrupted = true
		if signal != os.Interrupt || !c.onTerminal {
			_ = c.cmd.Process.Signal(signal) // it may have exited
		}
	}
}

// kill ends the command, and waits for that.
func (c *child) kill() {
	if c != nil {
		_ = c.cmd.Process.Kill() // it may have exited
		<-c.done
	}
}
