package relay

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// backgroundNice is the nice value of decoders: the calls that pass go first.
const backgroundNice = 10

// lowerPriority gives the calling goroutine a thread of its own at a lower priority. The thread
// ends with the goroutine.
func lowerPriority() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), backgroundNice) // else it runs as the calls do
}
