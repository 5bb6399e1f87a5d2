package attach

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// beatPeriod is how often a process says that it is alive, beatTimeout after which
	// silence its guard ends it: callers would wait for it.
	beatPeriod  = time.Second
	beatTimeout = 15 * time.Second
)

// What a process says to its guard.
const (
	beat = 'b'
	done = 'd'
)

// Guard is the process that undoes a swap if this one does not.
type Guard struct {
	cmd  *exec.Cmd
	to   io.WriteCloser
	stop chan struct{}
	lost chan struct{}
	beat sync.WaitGroup
}

// StartGuard starts the command of a guard, which has to call RunGuard, and returns when it
// is ready. It is in a session of its own, so that a terminal does not end it.
func StartGuard(cmd *exec.Cmd) (*Guard, error) {
	// Ctrl-Z would stop this process, and with it every caller of the runtime.
	signal.Ignore(unix.SIGTSTP)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	if line, err := bufio.NewReader(from).ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("start the watchdog: %s %w", line, err), to.Close(), cmd.Wait())
	}
	g := &Guard{cmd: cmd, to: to, stop: make(chan struct{}), lost: make(chan struct{})}
	g.beat.Go(func() {
		ticks := time.NewTicker(beatPeriod)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				if _, err := to.Write([]byte{beat}); err != nil {
					close(g.lost)
					return
				}
			case <-g.stop:
				return
			}
		}
	})
	return g, nil
}

// PID returns the process of the guard.
func (g *Guard) PID() int { return g.cmd.Process.Pid }

// Lost is closed when the guard has died, so that nobody would undo the swap.
func (g *Guard) Lost() <-chan struct{} { return g.lost }

// Dismiss ends the guard, once the swap is undone.
func (g *Guard) Dismiss() error {
	close(g.stop)
	g.beat.Wait()
	_, err := g.to.Write([]byte{done})
	return errors.Join(err, g.to.Close(), g.cmd.Wait())
}

// RunGuard undoes a swap when the process that in leads to has died or hangs, which it
// then ends. It returns nil when it was dismissed.
func RunGuard(s *Swap, in *os.File, ready io.Writer) error {
	parent, err := unix.PidfdOpen(os.Getppid(), 0)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(ready, "ready"); err != nil {
		return err
	}
	said := make([]byte, 64)
	for {
		poll := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, int(beatTimeout.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		hangs := err == nil && n == 0
		if !hangs {
			n, err := in.Read(said)
			if err == nil && n > 0 {
				if said[n-1] == done {
					return nil
				}
				continue
			}
		}
		err = s.Undo()
		if hangs {
			_ = unix.PidfdSendSignal(parent, unix.SIGKILL, nil, 0) // it may have ended
		}
		return errors.Join(errors.New("the trace died: the runtime's socket is in its place again"), err)
	}
}
