package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// lookRounds is how often each command is timed; those that sample take a second.
const lookRounds = 9

// benchLook times the commands that look inside pods, beside crictl's.
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
	podctl := func(args ...string) func() (listing, error) {
		return command(ctx, o.podctl, append([]string{"-r", o.endpoint}, args...)...)
	}
	ways := []way{
		{name: "podctl pods", run: podctl("pods"), peer: "crictl pods"},
		{name: "podctl top", run: podctl("top"), peer: "crictl stats", ratio: 1},
		{name: "podctl top containers", run: podctl("top", "containers"), peer: "crictl stats", ratio: 1},
		{name: "podctl describe POD", run: podctl("describe", name), limit: 50 * time.Millisecond},
		{name: "podctl __complete -- logs ''", run: podctl("__complete", "--", "logs", ""), limit: 100 * time.Millisecond},
	}
	if crictl := findCrictl(); crictl != "" {
		ways = append(ways,
			way{name: "crictl pods", run: command(ctx, crictl, "-r", o.endpoint, "pods")},
			way{name: "crictl stats", run: command(ctx, crictl, "-r", o.endpoint, "stats")})
	}
	return versus(fmt.Sprintf("looking inside %d pods; top and stats sample for a second", o.idle), lookRounds, ways)
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
