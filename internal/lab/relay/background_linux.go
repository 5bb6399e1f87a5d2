package relay

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// backgroundNice is the nice value of decoders: the calls that pass go first.
const backgroundNice = 10

// inBackground gives the goroutine a thread of its own at a lower priority, which ends
// with the goroutine.
func inBackground() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), backgroundNice) // else it runs as the calls do
}
