package main

import (
	"net"
	"regexp"
	"strings"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/testkit/simpod"
)

// pod runs a pod in the world's runtime.
func (w *world) pod(namespace, name string, labels ...string) *simpod.Pod {
	w.t.Helper()
	return simpod.Run(w.t, w.sim, namespace, name, labels...)
}

// simulateCommand is testscript's `simulate SOCKET`: a runtime with the pods
// default/web, which runs, and kube/job, whose container has exited 3.
func simulateCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: simulate SOCKET")
	}
	l, err := net.Listen("unix", ts.MkAbs(args[0]))
	ts.Check(err)
	runtime := sim.New(sim.Options{})
	simpod.New(runtime, ts.Check, "default", "web", "app=web").Start("web", "sleep", "3600")
	simpod.New(runtime, ts.Check, "kube", "job").Start("job", "sh", "-c", "exit 3")
	ended := make(chan error, 1)
	go func() { ended <- runtime.Serve(l) }()
	ts.Defer(func() { l.Close(); <-ended; runtime.Close() })
}

// watch starts `podctl pleg watch`, and lets it see what there is.
func (w *world) watch(flags ...string) *command {
	c := w.start(nil, append([]string{"pleg", "watch"}, flags...)...)
	time.Sleep(500 * time.Millisecond)
	synctest.Wait()
	return c
}

// lines asserts what was printed since the last time, without the times in
// front and with one space between columns.
func (c *command) lines(want ...string) {
	c.t.Helper()
	if got := c.more(); got != strings.Join(want, "\n") {
		c.t.Errorf("printed\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// linesMatch is lines of which each is a regular expression.
func (c *command) linesMatch(want ...string) {
	c.t.Helper()
	if got := c.more(); !regexp.MustCompile("^" + strings.Join(want, "\n") + "$").MatchString(got) {
		c.t.Errorf("printed\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// more is what was printed since the last time.
func (c *command) more() string {
	text := c.out.String()[c.read:]
	c.read += len(text)
	var lines []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if _, err := time.Parse("15:04:05.000", fields[0]); err == nil {
			fields = fields[1:]
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	return strings.Join(lines, "\n")
}

const watchHeader = "TIME POD EVENT CONTAINER DETAIL SOURCE LAG"

// stopped interrupts, asserts exit code 0, and the summary after its time.
func (c *command) stopped(summary string) {
	c.t.Helper()
	c.interrupt()
	c.ends(shell.ExitOK, time.Second)
	c.lines(summary)
	c.silent()
}
