package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/podctl/podctl/test/live/record"
)

// scaleRounds is how often each command is timed.
const scaleRounds = 5

// scaled is what one number of pods costs.
type scaled struct {
	pods        int
	first, last time.Duration // until a container was started
	startCPU    time.Duration // of podctl until the last one
	idleCPU     float64       // of one core
	rss         int64
	calls       float64 // a second
	commands    []listing
}

// benchScale measures an agent with more and more pods: on the simulated runtime,
// served by another process, or on the runtime that was given, as many as it may have.
func benchScale(ctx context.Context, o options) error {
	if o.podctl == "" {
		return nil
	}
	if o.endpoint == "" {
		return scaleCurve(ctx, o, "simulated runtime", o.scale, func(dir string) (string, func() error, error) {
			return serveSim(ctx, o.podctl, dir)
		})
	}
	few := slices.DeleteFunc(slices.Clone(o.scale), func(n int) bool { return n > o.scaleLive })
	return scaleCurve(ctx, o, o.endpoint, few, func(string) (string, func() error, error) {
		return o.endpoint, func() error { return nil }, nil
	})
}

// scaleCurve prints a row for each number of pods.
func scaleCurve(ctx context.Context, o options, title string, numbers []int, serve func(dir string) (endpoint string, end func() error, err error)) error {
	fmt.Printf("an agent's pods, %s; idle for %v; commands: median of %d\n", title, o.idleFor, scaleRounds)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "pods\tfirst start\tlast start\tCPU of it\tidle CPU\tRSS\tcalls/s")
	for _, c := range scaleCommands {
		fmt.Fprintf(t, "\t%s\tCPU", c[0])
	}
	fmt.Fprintln(t)
	for _, n := range numbers {
		s, err := scaleOf(ctx, o, n, serve)
		if err != nil {
			return fmt.Errorf("%d pods: %w", n, err)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%.2f %%\t%.1f MB\t%.1f", s.pods, milliseconds(s.first), milliseconds(s.last), milliseconds(s.startCPU),
			100*s.idleCPU, float64(s.rss)/1e6, s.calls)
		for _, c := range s.commands {
			fmt.Fprintf(t, "\t%s\t%s", milliseconds(c.took), milliseconds(c.cpu))
		}
		fmt.Fprintln(t)
		t.Flush()
	}
	fmt.Println("goals at 1,000: idle CPU 1 %, RSS 90 MB; at 2,500: 2.5 %, 200 MB; at 5,000: 4 %, 300 MB; the cost of a pod does not grow with their number")
	fmt.Println()
	return nil
}

// scaleCommands are what is timed beside so many pods.
var scaleCommands = [][]string{{"pods"}, {"describe", "bench-1"}, {"orphans"}}

func scaleOf(ctx context.Context, o options, pods int, serve func(dir string) (string, func() error, error)) (s scaled, err error) {
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	endpoint, end, err := serve(dir)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, end()) }()
	proxy, err := record.Start(filepath.Join(dir, "cri.sock"), endpoint)
	if err != nil {
		return s, err
	}
	defer proxy.Close()
	var started, calls atomic.Int64
	var firstAt, lastAt atomic.Int64
	proxy.Watch(nil, func(c record.Call) {
		calls.Add(1)
		if c.Method == "StartContainer" && c.Err == nil {
			firstAt.CompareAndSwap(0, c.End.UnixNano())
			lastAt.Store(c.End.UnixNano())
			started.Add(1)
		}
	})
	o.idle = pods
	began := time.Now()
	agent, err := startSleepers(ctx, o, proxy.Endpoint, dir, "agent")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, agent.end()) }()
	pid := agent.cmd.Process.Pid
	for started.Load() < int64(pods) {
		if time.Since(began) > 10*time.Minute {
			return s, fmt.Errorf("%d of %d containers were started", started.Load(), pods)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return s, err
		}
	}
	busy, err := accountOf(pid)
	if err != nil {
		return s, err
	}
	s = scaled{pods: pods, startCPU: busy.cpu, first: time.Duration(firstAt.Load() - began.UnixNano()), last: time.Duration(lastAt.Load() - began.UnixNano())}
	if err := pause(ctx, settleFor); err != nil {
		return s, err
	}
	proxy.Take() // frees what it has recorded
	before, err := accountOf(pid)
	if err != nil {
		return s, err
	}
	calls.Store(0)
	begin := time.Now()
	if err := pause(ctx, o.idleFor); err != nil {
		return s, err
	}
	after, err := accountOf(pid)
	if err != nil {
		return s, err
	}
	took := time.Since(begin).Seconds()
	s.idleCPU, s.rss, s.calls = (after.cpu-before.cpu).Seconds()/took, after.rss, float64(calls.Load())/took
	for _, args := range scaleCommands {
		l, err := timeCommand(ctx, o.podctl, proxy.Endpoint, dir, args)
		if err != nil {
			return s, err
		}
		s.commands = append(s.commands, l)
	}
	return s, nil
}

// timeCommand is the median of some runs of a command beside the agent.
func timeCommand(ctx context.Context, program, endpoint, dir string, args []string) (listing, error) {
	var runs []listing
	for range scaleRounds {
		cmd := exec.CommandContext(ctx, program, append([]string{
			"-r", endpoint, "--root", filepath.Join(dir, "root"), "--log-dir", filepath.Join(dir, "podlogs"),
		}, args...)...)
		l, err := timeProcess(cmd)
		if err != nil {
			return l, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		runs = append(runs, l)
	}
	return listing{
		took: median(runs, func(l listing) time.Duration { return l.took }),
		cpu:  median(runs, func(l listing) time.Duration { return l.cpu }),
	}, nil
}

// serveSim starts `podctl sim`.
func serveSim(ctx context.Context, program, dir string) (endpoint string, end func() error, err error) {
	cmd := exec.CommandContext(ctx, program, "sim", "--listen", filepath.Join(dir, "sim.sock"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	endpoint, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("podctl sim: %w\n%s", errors.Join(err, cmd.Wait()), &stderr)
	}
	return strings.TrimSpace(endpoint), func() error {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		return cmd.Wait()
	}, nil
}
