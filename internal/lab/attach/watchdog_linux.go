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
	// heartbeatPeriod is the interval of the heartbeats of a trace, each of which its watchdog
	// answers. After heartbeatTimeout without one the watchdog kills the trace: callers would wait
	// for it. After as long without an answer the watchdog is lost: it hangs, or is stopped.
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
	cmd      *exec.Cmd
	to       io.WriteCloser
	stop     chan struct{}
	lost     chan struct{}
	watching sync.WaitGroup
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
	answers := bufio.NewReader(from)
	if line, err := answers.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("start the watchdog: %s %w", line, err), to.Close(), cmd.Wait())
	}
	w := &Watchdog{cmd: cmd, to: to, stop: make(chan struct{}), lost: make(chan struct{})}
	w.watching.Go(func() { w.watch(answers, heartbeatPeriod, heartbeatTimeout) })
	return w, nil
}

// watch sends heartbeats until stop, and reports the watchdog as lost if it does not answer.
func (w *Watchdog) watch(answers io.Reader, period, timeout time.Duration) {
	answered := make(chan struct{}, 1)
	go func() {
		for one := make([]byte, 64); ; {
			if _, err := answers.Read(one); err != nil {
				return // it has died: a write fails, or no answer comes
			}
			select {
			case answered <- struct{}{}:
			default:
			}
		}
	}()
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	silent := time.NewTimer(timeout)
	defer silent.Stop()
	for {
		select {
		case <-ticks.C:
			if _, err := w.to.Write([]byte{heartbeat}); err != nil {
				close(w.lost)
				return
			}
		case <-answered:
			silent.Reset(timeout)
		case <-silent.C:
			close(w.lost)
			return
		case <-w.stop:
			return
		}
	}
}

// PID returns the process ID of the watchdog.
func (w *Watchdog) PID() int { return w.cmd.Process.Pid }

// Lost returns a channel that is closed when the watchdog has died or does not answer: it would not
// undo the swap.
func (w *Watchdog) Lost() <-chan struct{} { return w.lost }

// dismissTimeout is how long a watchdog may take to end; then it hangs, and is killed.
const dismissTimeout = 2 * time.Second

// Dismiss ends the watchdog, once the swap is undone.
func (w *Watchdog) Dismiss() error {
	close(w.stop)
	w.watching.Wait()
	_, err := w.to.Write([]byte{dismissed})
	kill := time.AfterFunc(dismissTimeout, func() { _ = w.cmd.Process.Kill() }) // it may have ended
	defer kill.Stop()
	return errors.Join(err, w.to.Close(), w.cmd.Wait())
}

// RunWatchdog reads the heartbeats of the parent process from in, and answers them. When in ends, or none comes for
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
				_, _ = fmt.Fprint(ready, "a") // a trace that has died is seen by the end of in
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
