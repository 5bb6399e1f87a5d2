package main

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// As timeout(1) sends them, which is not a request to force.
func TestTwoSignalsAtOnceAreOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := make(chan os.Signal), make(chan os.Signal, 4)
		go debounce(from, to)
		for _, pause := range []time.Duration{0, time.Millisecond, time.Second, debounceWindow} {
			time.Sleep(pause)
			from <- syscall.SIGINT
		}
		close(from)
		synctest.Wait()
		if got := len(to); got != 3 {
			t.Errorf("%d requests, want those after 0s, 1s and %s more", got, debounceWindow)
		}
	})
}
