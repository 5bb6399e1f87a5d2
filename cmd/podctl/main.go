package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	interrupts := make(chan os.Signal, 4)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(interrupts, syscall.SIGHUP)
	}
	// podctl run … | head must not die with its pods running.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(os.Args, newEnv(interrupts)))
}
