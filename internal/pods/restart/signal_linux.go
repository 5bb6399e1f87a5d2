package restart

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// send sends a signal to a process of a container. The process is held before it is looked
// at: another one that has its PID by then gets no signal.
func (r *Restarter) send(pid int, container string, signal syscall.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(fd) }() // it was only read
	if err := r.checkProcessOf(pid, container); err != nil {
		return err
	}
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return nil
}
