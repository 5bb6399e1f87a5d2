package daemon

import (
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// SDNotify sends a state to systemd, if systemd started this process, and
// returns the interval within which systemd expects WATCHDOG=1; 0 is never.
func SDNotify(state string) time.Duration {
	if state != "" {
		_, _ = daemon.SdNotify(false, state) // without systemd it does nothing
	}
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return 0
	}
	return interval
}
