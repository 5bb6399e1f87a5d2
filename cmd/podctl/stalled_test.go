package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// stalledReader blocks writes until it is released.
type stalledReader struct {
	release chan struct{}
	mu      sync.Mutex
	buf     bytes.Buffer
}

func (s *stalledReader) Write(p []byte) (int, error) {
	<-s.release
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *stalledReader) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// A run whose output is not read ends, and then waits with its result.
func TestRunWithAStalledOutputGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		to := &stalledReader{release: make(chan struct{})}
		c := w.startTo(to, strings.NewReader(twoJobs), "run", "-")
		time.Sleep(time.Minute)
		w.holds(0)
		c.goesOn()
		close(to.release)
		c.ends(1, time.Minute)
		if out := to.String(); !strings.Contains(out, "default/bad") {
			t.Errorf("printed %q", out)
		}
	})
}

// Ctrl-C ends a run whose output is not read, and one that waits with its result.
func TestInterruptEndsARunWithAStalledOutput(t *testing.T) {
	for _, manifest := range []string{strings.ReplaceAll(sleeper, "NAME", "web"), twoJobs} {
		inWorld(t, func(t *testing.T, w *world) {
			to := &stalledReader{release: make(chan struct{})}
			c := w.startTo(to, strings.NewReader(manifest), "run", "-")
			time.Sleep(time.Minute)
			c.goesOn()
			c.interrupt()
			c.ends(130, time.Minute)
			w.holds(0)
			close(to.release)
		})
	}
}

// chatty writes more than podctl keeps of output that is not read.
var chatty = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web, image: busybox, command: [sh, -c, "x=` + strings.Repeat("x", 1<<10) + `; for i in 1 2 3 4 5 6 7 8 9; do x=$x$x; done; for i in 1 2 3 4; do echo $x; done; trap 'exit 0' TERM; sleep 3600 & wait"]}
`

// A first Ctrl-C ends a run whose pods have written more than is read within a second.
func TestInterruptEndsARunWhoseLogsAreNotRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		to := &stalledReader{release: make(chan struct{})}
		defer close(to.release)
		c := w.startTo(to, strings.NewReader(chatty), "run", "--logs", "-")
		time.Sleep(5 * time.Second)
		c.goesOn()
		c.interrupt()
		c.ends(130, time.Second)
		w.holds(0)
	})
}

// A watch whose output is not read sees what happens, and an interrupt ends it.
func TestWatchWithAStalledOutputGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		to := &stalledReader{release: make(chan struct{})}
		c := w.startTo(to, nil, "pleg", "watch", "--count", "3")
		time.Sleep(time.Second)
		p := w.pod("default", "job")
		p.Start("job", "sh", "-c", "sleep 2; exit 3")
		time.Sleep(time.Minute)
		c.goesOn() // it waits with its summary
		close(to.release)
		c.ends(0, time.Minute)
		if out := to.String(); !strings.Contains(out, "exit 3") || !strings.Contains(out, "3 events in") {
			t.Errorf("printed %q", out)
		}
		again := &stalledReader{release: make(chan struct{})}
		c = w.startTo(again, nil, "pleg", "watch")
		time.Sleep(time.Minute)
		c.interrupt()
		c.ends(0, 5*time.Second)
		close(again.release)
	})
}
