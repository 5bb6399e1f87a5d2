package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	_ "github.com/podctl/podctl/cmd/podctl/internal/startup" // sets the umask; collects garbage rarely from here on
)

func main() {
	os.Exit(runProgram(os.Args, shell.NewEnv(signals())))
}

// signals delivers interrupts, each one separately.
func signals() <-chan os.Signal {
	interrupts := make(chan os.Signal, 4)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(interrupts, syscall.SIGHUP)
	}
	// podctl run … | head must not die with its pods running.
	signal.Ignore(syscall.SIGPIPE)
	requests := make(chan os.Signal, cap(interrupts))
	go debounce(interrupts, requests)
	return requests
}

// debounceWindow is the time within which two signals are one request:
// timeout(1) sends one to its child and one to its group, and a second request
// would force.
const debounceWindow = 100 * time.Millisecond

// debounce forwards signals that do not directly follow another one.
func debounce(from <-chan os.Signal, to chan<- os.Signal) {
	var last time.Time
	for s := range from {
		now := time.Now()
		if !last.IsZero() && now.Sub(last) < debounceWindow {
			continue
		}
		last = now
		select {
		case to <- s:
		default: // there are enough
		}
	}
}
