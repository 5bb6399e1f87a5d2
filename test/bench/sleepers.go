package main

import (
	"bytes"
	"context"
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
	cmd, err := podctlRun(ctx, o.podctl, endpoint, dir, o.idle, `sleep, "1000000"`)
	if err != nil {
		return nil, err
	}
	if command == "agent" {
		last := len(cmd.Args) - 1
		manifests := filepath.Join(dir, "manifests")
		if err := os.Mkdir(manifests, 0o755); err != nil {
			return nil, err
		}
		if err := os.Rename(cmd.Args[last], filepath.Join(manifests, "pods.yaml")); err != nil {
			return nil, err
		}
		cmd.Args = append(cmd.Args[:last-3], "agent", "--drain", "--drain-timeout", "10m", "--manifests", manifests)
	}
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
