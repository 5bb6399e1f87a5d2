package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// sleepers are pods that do nothing, and the podctl that keeps them.
type sleepers struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	ended chan error
}

// startSleepers starts them with `podctl run` or `podctl agent`; the caller must
// call end.
func startSleepers(ctx context.Context, o options, endpoint, dir, command string) (*sleepers, error) {
	if command == "agent" {
		s, give, err := startAgent(ctx, o, endpoint, dir)
		if err != nil {
			return nil, err
		}
		if err := give(); err != nil {
			return nil, errors.Join(err, s.end())
		}
		return s, nil
	}
	cmd, err := podctlRun(ctx, o.podctl, endpoint, dir, o.idle, sleepForever)
	if err != nil {
		return nil, err
	}
	return startSleeping(cmd)
}

const sleepForever = `sleep, "1000000"`

// startAgent starts an agent without pods; give gives it the sleepers' manifest.
func startAgent(ctx context.Context, o options, endpoint, dir string) (s *sleepers, give func() error, err error) {
	cmd, err := podctlRun(ctx, o.podctl, endpoint, dir, o.idle, sleepForever)
	if err != nil {
		return nil, nil, err
	}
	last := len(cmd.Args) - 1
	file, manifests := cmd.Args[last], filepath.Join(dir, "manifests")
	if err := os.Mkdir(manifests, 0o755); err != nil {
		return nil, nil, err
	}
	cmd.Args = append(cmd.Args[:last-3], "agent", "--drain", "--drain-timeout", "10m", "--manifests", manifests)
	s, err = startSleeping(cmd)
	return s, func() error { return os.Rename(file, filepath.Join(manifests, "pods.yaml")) }, err
}

func startSleeping(cmd *exec.Cmd) (*sleepers, error) {
	s := &sleepers{cmd: cmd, ended: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	cmd.WaitDelay = time.Minute
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.ended <- cmd.Wait() }()
	return s, nil
}

// end interrupts podctl, which then removes its pods. A run that was
// interrupted exits with a code of its own.
func (s *sleepers) end() error {
	_ = s.cmd.Process.Signal(os.Interrupt) // it may have ended
	err := <-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code == 0 || code == interruptedCode {
		return nil
	}
	return fmt.Errorf("podctl: %w\n%s", err, s.out.String())
}

// interruptedCode is podctl's exit code after an interrupt.
const interruptedCode = 130
