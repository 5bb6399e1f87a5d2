package kubelet

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/proc"
)

// inNetworkOf runs a function in the network namespace of a process. The
// function must not start goroutines that depend on the namespace.
func inNetworkOf(pid int, do func() error) error {
	theirs, err := proc.Default.Namespace(pid, "net")
	if err != nil {
		return err
	}
	ours, err := proc.Default.Namespace(os.Getpid(), "net")
	if err != nil {
		return err
	}
	if theirs == ours {
		return do()
	}
	result := make(chan error, 1)
	go func() { result <- onThreadIn(pid, do) }()
	return <-result
}

// onThreadIn runs a function on a thread in the network namespace of a process. If the
// thread cannot be changed back, the goroutine stays locked to it, and both end.
func onThreadIn(pid int, do func() error) error {
	runtime.LockOSThread()
	own, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		return err
	}
	defer own.Close()
	theirs, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer theirs.Close()
	if err := unix.Setns(int(theirs.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network namespace of process %d: %w", pid, err)
	}
	err = do()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}
