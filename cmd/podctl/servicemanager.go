package main

import "time"

// manager is the service manager that started us, if one did (sd_notify).
type manager struct {
	notify  func(state string) (interval time.Duration)
	healthy func() bool
	told    bool
}

func newManager(notify func(string) time.Duration, healthy func() bool) *manager {
	if notify == nil {
		notify = func(string) time.Duration { return 0 }
	}
	return &manager{notify: notify, healthy: healthy}
}

// ready tells it once that the service has begun.
func (m *manager) ready() {
	if !m.told {
		m.told = true
		m.notify("READY=1")
	}
}

func (m *manager) stopping() { m.notify("STOPPING=1") }

// alive tells it that all is well, if it is: else the manager restarts us.
func (m *manager) alive() {
	if m.healthy() {
		m.notify("WATCHDOG=1")
	}
}

// watchdog ticks as often as the manager wants to hear that all is well; it is
// nil where it does not.
func (m *manager) watchdog() (ticks <-chan time.Time, stop func()) {
	interval := m.notify("")
	if interval <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(interval / 2)
	return t.C, t.Stop
}
