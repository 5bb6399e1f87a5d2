package daemon

import (
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Manager notifies the service manager that started this process, if one did
// (sd_notify).
type Manager struct {
	notify  func(state string) (interval time.Duration)
	healthy func() bool
	isReady bool
}

// NewManager returns a Manager. notify sends a state and returns the watchdog
// interval, see SDNotify; nil if there is no service manager.
func NewManager(notify func(string) time.Duration, healthy func() bool) *Manager {
	if notify == nil {
		notify = func(string) time.Duration { return 0 }
	}
	return &Manager{notify: notify, healthy: healthy}
}

// Ready reports once that the service has started.
func (m *Manager) Ready() {
	if !m.isReady {
		m.isReady = true
		m.notify("READY=1")
	}
}

// Stopping reports that the service stops.
func (m *Manager) Stopping() { m.notify("STOPPING=1") }

// Alive feeds the watchdog if the service is healthy; if it is not, the service
// manager restarts the process.
func (m *Manager) Alive() {
	if m.healthy() {
		m.notify("WATCHDOG=1")
	}
}

// Watchdog ticks twice in each watchdog interval; it is nil without one.
func (m *Manager) Watchdog() (ticks <-chan time.Time, stop func()) {
	interval := m.notify("")
	if interval <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(interval / 2)
	return t.C, t.Stop
}

// KeepAlive feeds the watchdog until done is closed.
func (m *Manager) KeepAlive(done <-chan struct{}) {
	m.Ready()
	watchdog, stop := m.Watchdog()
	defer stop()
	for {
		select {
		case <-watchdog:
			m.Alive()
		case <-done:
			m.Stopping()
			return
		}
	}
}

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
