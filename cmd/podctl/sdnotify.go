package main

import (
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// sdNotify tells systemd of a state, where it started us, and returns within
// what time it wants to hear WATCHDOG=1; 0 is never.
func sdNotify(state string) time.Duration {
	if state != "" {
		_, _ = daemon.SdNotify(false, state) // without systemd there is nobody to tell
	}
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return 0
	}
	return interval
}
