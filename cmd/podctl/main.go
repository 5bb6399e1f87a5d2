package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	interrupts := make(chan os.Signal, 4)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args, newEnv(interrupts)))
}
