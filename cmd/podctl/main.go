package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(os.Args, newEnv(signals()))) }

// signals are the interrupts, each one separately.
func signals() <-chan os.Signal {
	interrupts := make(chan os.Signal, 4)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(interrupts, syscall.SIGHUP)
	}
	// podctl run … | head must not die with its pods running.
	signal.Ignore(syscall.SIGPIPE)
	return interrupts
}
