package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// logRounds is how often the whole log is printed, tailRounds its last lines.
	logRounds  = 3
	tailRounds = 25
)

// benchLogs times the log of a container: all of it, to /dev/null and into a pipe, and
// its last lines.
func benchLogs(ctx context.Context, o options) error {
	if o.podctl == "" {
		return nil
	}
	return withSleeper(ctx, o, func(_ *PodMaker, p *Pod) error {
		size, err := writeLog(p.LogPath(), o.logSize)
		if err != nil {
			return err
		}
		crictl := findCrictl()
		podctl := func(args ...string) *exec.Cmd {
			return exec.CommandContext(ctx, o.podctl, append([]string{"-r", o.endpoint, "logs", p.Name}, args...)...)
		}
		peer := func(args ...string) *exec.Cmd {
			return exec.CommandContext(ctx, crictl, append(append([]string{"-r", o.endpoint, "logs"}, args...), p.ContainerID)...)
		}
		whole := []way{
			{name: "podctl logs >/dev/null", run: func() (listing, error) { return toNull(podctl()) }, peer: "crictl logs >/dev/null", ratio: 1.0 / 3},
			{name: "podctl logs | reader", run: func() (listing, error) { return toPipe(podctl()) }, peer: "crictl logs | reader", ratio: 1.0 / 3},
		}
		last := []way{{name: "podctl logs --tail 10", run: func() (listing, error) { return toPipe(podctl("--tail", "10")) }, peer: "crictl logs --tail 10", limit: 30 * time.Millisecond}}
		if crictl != "" {
			whole = append(whole,
				way{name: "crictl logs >/dev/null", run: func() (listing, error) { return toNull(peer()) }},
				way{name: "crictl logs | reader", run: func() (listing, error) { return toPipe(peer()) }})
			last = append(last, way{name: "crictl logs --tail 10", run: func() (listing, error) { return toPipe(peer("--tail", "10")) }})
		}
		title := fmt.Sprintf("a log of %d MiB", size>>20)
		if err := versus(title, logRounds, whole); err != nil {
			return err
		}
		return versus("the last lines of "+title, tailRounds, last)
	})
}

// writeLog appends lines of a log until it has about the size, which it returns.
func writeLog(path string, size int64) (written int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	text := strings.Repeat("one line of a container's log, ", 3)[:80]
	for n := 0; written < size; n++ {
		stream := "stdout"
		if n%8 == 7 {
			stream = "stderr"
		}
		line, err := fmt.Fprintf(w, "2026-01-02T15:04:05.%09dZ %s F %08d %s\n", n%1_000_000_000, stream, n, text)
		if err != nil {
			return written, err
		}
		written += int64(line)
	}
	return written, w.Flush()
}

// toNull times a program whose output is thrown away by the kernel.
func toNull(cmd *exec.Cmd) (listing, error) {
	begin := time.Now()
	err := cmd.Run()
	return ended(cmd, begin, err)
}

// toPipe times a program whose output this process reads.
func toPipe(cmd *exec.Cmd) (listing, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return listing{}, err
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	begin := time.Now()
	err = cmd.Start()
	_ = w.Close() // the program has its own
	if err == nil {
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 1<<20))
		err = errors.Join(err, cmd.Wait())
	}
	return ended(cmd, begin, err)
}

func ended(cmd *exec.Cmd, begin time.Time, err error) (listing, error) {
	l := listing{took: time.Since(begin)}
	if err != nil {
		return l, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	l.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return l, nil
}
