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
	// heartbeatPeriod is the interval of the heartbeats of a trace. After heartbeatTimeout without
	// one its watchdog kills it: callers would wait for it.
	heartbeatPeriod  = time.Second
	heartbeatTimeout = 15 * time.Second
)

// What a trace writes to its watchdog.
const (
	heartbeat = 'b'
	dismissed = 'd'
)

// Watchdog is a child process that undoes a swap if this process dies or hangs.
type Watchdog struct {
	cmd        *exec.Cmd
	to         io.WriteCloser
	stop       chan struct{}
	lost       chan struct{}
	heartbeats sync.WaitGroup
}

// StartWatchdog starts the command of a watchdog, which has to call RunWatchdog, and returns when it
// is ready. The watchdog is in a session of its own, so that a terminal does not end it. This
// process ignores SIGTSTP from then on.
func StartWatchdog(cmd *exec.Cmd) (*Watchdog, error) {
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
	w := &Watchdog{cmd: cmd, to: to, stop: make(chan struct{}), lost: make(chan struct{})}
	w.heartbeats.Go(func() {
		ticks := time.NewTicker(heartbeatPeriod)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				if _, err := to.Write([]byte{heartbeat}); err != nil {
					close(w.lost)
					return
				}
			case <-w.stop:
				return
			}
		}
	})
	return w, nil
}

// PID returns the process ID of the watchdog.
func (w *Watchdog) PID() int { return w.cmd.Process.Pid }

// Lost returns a channel that is closed when the watchdog has died: it would not undo the swap.
func (w *Watchdog) Lost() <-chan struct{} { return w.lost }

// Dismiss ends the watchdog, once the swap is undone.
func (w *Watchdog) Dismiss() error {
	close(w.stop)
	w.heartbeats.Wait()
	_, err := w.to.Write([]byte{dismissed})
	return errors.Join(err, w.to.Close(), w.cmd.Wait())
}

// RunWatchdog reads the heartbeats of the parent process from in. When in ends, or none comes for
// heartbeatTimeout, it undoes the swap, and kills a parent that hangs. It returns nil after Dismiss.
func RunWatchdog(s *Swap, in *os.File, ready io.Writer) error {
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
		n, err := unix.Poll(poll, int(heartbeatTimeout.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		hangs := err == nil && n == 0
		if !hangs {
			n, err := in.Read(said)
			if err == nil && n > 0 {
				if said[n-1] == dismissed {
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
