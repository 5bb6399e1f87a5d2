package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	hurry()
	os.Exit(run(os.Args, newEnv(signals())))
}

// signals are the interrupts, each one separately.
func signals() <-chan os.Signal {
	interrupts := make(chan os.Signal, 4)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(interrupts, syscall.SIGHUP)
	}
	// podctl run … | head must not die with its pods running.
	signal.Ignore(syscall.SIGPIPE)
	asked := make(chan os.Signal, cap(interrupts))
	go apart(interrupts, asked)
	return asked
}

// onePress is within what time two signals are one request: timeout(1) sends
// one to its child and one to its group, and a second one would force.
const onePress = 100 * time.Millisecond

// apart passes on the signals that do not come at once after another.
func apart(from <-chan os.Signal, to chan<- os.Signal) {
	var last time.Time
	for s := range from {
		now := time.Now()
		if !last.IsZero() && now.Sub(last) < onePress {
			continue
		}
		last = now
		select {
		case to <- s:
		default: // nobody wants so many
		}
	}
}
