package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/podctl/podctl/test/live/record"
)

const (
	// settleFor is the time after their start from which pods count as idle.
	settleFor = 15 * time.Second
	// clockTick is the unit of /proc/PID/stat, the same on every Linux.
	clockTick = 10 * time.Millisecond
)

// benchIdle measures the cost of podctl while its pods are idle, from /proc and the
// calls that it makes; then the time that listing all those pods takes.
func benchIdle(ctx context.Context, o options) error {
	if o.podctl == "" {
		return nil
	}
	for _, command := range []string{"run", "agent"} {
		if err := benchIdleOf(ctx, o, command); err != nil {
			return fmt.Errorf("podctl %s: %w", command, err)
		}
	}
	return nil
}

func benchIdleOf(ctx context.Context, o options, command string) (err error) {
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	proxy, err := record.Start(filepath.Join(dir, "cri.sock"), o.endpoint)
	if err != nil {
		return err
	}
	defer proxy.Close()
	s, err := startSleepers(ctx, o, proxy.Endpoint, dir, command)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := allStarted(ctx, proxy, o.idle); err != nil {
		return err
	}
	if err := pause(ctx, settleFor); err != nil {
		return err
	}
	if err := watchIdle(ctx, o, proxy, command, s.cmd.Process.Pid); err != nil {
		return err
	}
	if command != "agent" {
		return nil
	}
	return benchList(ctx, o, proxy.Endpoint)
}

// watchIdle reports what a process and the calls through its proxy cost.
func watchIdle(ctx context.Context, o options, proxy *record.Proxy, command string, pid int) error {
	proxy.Take()
	before, err := accountOf(pid)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := pause(ctx, o.idleFor); err != nil {
		return err
	}
	after, err := accountOf(pid)
	if err != nil {
		return err
	}
	took, calls := time.Since(begin).Seconds(), map[string]int{}
	for _, c := range proxy.Take() {
		calls[c.Method]++
	}
	fmt.Printf("%d idle pods of podctl %s, %v\n", o.idle, command, o.idleFor)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tpodctl\tgoal")
	fmt.Fprintf(t, "CPU of one core\t%.2f %%\t1 %%\n", 100*(after.cpu-before.cpu).Seconds()/took)
	fmt.Fprintf(t, "memory (RSS)\t%.1f MB\t50 MB\n", float64(after.rss)/1e6)
	fmt.Fprintf(t, "CRI calls a second\t%.2f\t3\n", float64(sum(calls))/took)
	t.Flush()
	fmt.Printf("calls: %s\n\n", breakdown(calls))
	return nil
}

// allStarted returns when that many containers have been started.
func allStarted(ctx context.Context, proxy *record.Proxy, pods int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		started := 0
		for _, c := range proxy.Calls() {
			if c.Method == "StartContainer" && c.Err == nil {
				started++
			}
		}
		if started >= pods {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d containers were started: %w", started, pods, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// account is what /proc says of a process.
type account struct {
	cpu time.Duration // user and system
	rss int64         // bytes
}

func accountOf(pid int) (account, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return account{}, err
	}
	return parseStat(string(stat), int64(os.Getpagesize()))
}

// parseStat reads a line of /proc/PID/stat: proc_pid_stat(5).
func parseStat(line string, pageSize int64) (account, error) {
	// The second field is the name in brackets and may hold anything; utime and
	// stime are the 14th and 15th, rss, in pages, is the 24th.
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) < 22 {
		return account{}, fmt.Errorf("read process account: %q", line)
	}
	var values [3]int64
	for i, field := range [...]int{14, 15, 24} {
		var err error
		if values[i], err = strconv.ParseInt(fields[field-3], 10, 64); err != nil {
			return account{}, fmt.Errorf("read process account: %w", err)
		}
	}
	return account{cpu: time.Duration(values[0]+values[1]) * clockTick, rss: values[2] * pageSize}, nil
}
