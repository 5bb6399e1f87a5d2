package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Do runs a function in a network namespace, which is an open file. The function must not start
// goroutines that depend on the namespace.
func Do(namespace *os.File, do func() error) error {
	result := make(chan error, 1)
	go func() { result <- onThreadIn(namespace, do) }()
	return <-result
}

// onThreadIn runs a function on a thread in a network namespace. The thread is changed back: it may be
// the first one, which does not end with the goroutine, and whose namespace is the process's to others.
// If it cannot be changed back, the goroutine stays locked to it, and both end.
func onThreadIn(namespace *os.File, do func() error) error {
	runtime.LockOSThread()
	own, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		return err
	}
	defer own.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network namespace %s: %w", namespace.Name(), err)
	}
	err = do()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}
