package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	// lookRounds is how often each command is timed; those that sample take a second.
	lookRounds = 9
	// describeGoal is what `podctl describe` of one of 60 pods may take.
	describeGoal = 50 * time.Millisecond
)

// benchLook times the commands that look inside pods, beside crictl's from the PATH.
func benchLook(ctx context.Context, o options) (err error) {
	if o.podctl == "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := startSleepers(ctx, o, o.endpoint, dir, "agent")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	name, err := allListed(ctx, o)
	if err != nil {
		return err
	}
	if err := pause(ctx, settleFor); err != nil {
		return err
	}
	ways := [][]string{
		{o.podctl, "-r", o.endpoint, "top"},
		{o.podctl, "-r", o.endpoint, "top", "containers"},
		{o.podctl, "-r", o.endpoint, "describe", name},
	}
	if crictl, err := exec.LookPath("crictl"); err == nil {
		ways = append(ways, []string{crictl, "-r", o.endpoint, "stats"})
	} else {
		fmt.Println("crictl is not in the PATH: podctl alone")
	}
	results := make([][]listing, len(ways))
	for range lookRounds {
		for i, way := range ways {
			l, err := timeProcess(exec.CommandContext(ctx, way[0], way[1:]...))
			if err != nil {
				return fmt.Errorf("%s: %w", strings.Join(way, " "), err)
			}
			results[i] = append(results[i], l)
		}
	}
	fmt.Printf("looking inside %d pods, median of %d rounds; top and stats sample for a second\n", o.idle, lookRounds)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\ttime\tCPU")
	for i, way := range ways {
		took := median(results[i], func(l listing) float64 { return l.took.Seconds() })
		cpu := median(results[i], func(l listing) time.Duration { return l.cpu })
		fmt.Fprintf(t, "%s %s\t%.1f ms\t%.1f ms\n", way[0][strings.LastIndexByte(way[0], '/')+1:], strings.Join(way[3:], " "), 1e3*took, 1e3*cpu.Seconds())
	}
	t.Flush()
	fmt.Printf("goals: top no slower than crictl stats; describe %s\n\n", describeGoal)
	return nil
}

// allListed returns the name of a pod when all are listed as running.
func allListed(ctx context.Context, o options) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		out, err := exec.CommandContext(ctx, o.podctl, "-r", o.endpoint, "pods", "--no-headers").Output()
		if err != nil {
			return "", err
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if strings.Count(string(out), " Running ") >= o.idle {
			name, _, _ := strings.Cut(lines[0], " ")
			return name, nil
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return "", fmt.Errorf("%d pods are listed: %w", len(lines), err)
		}
	}
}
