package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
)

// runBare runs the pods side by side with the calls that they need and no
// other.
func runBare(ctx context.Context, client *bare.Client, exits *bare.Exits, dir string, pods int) error {
	return sideBySide(pods, func(i int) error {
		p, err := startBare(ctx, client, dir, i, "true")
		if err == nil {
			err = exits.Wait(ctx, p)
		}
		if err != nil {
			return err
		}
		return endBare(ctx, client, p)
	})
}

// sideBySide does it for each pod at once.
func sideBySide(pods int, do func(i int) error) error {
	errs := make([]error, pods)
	var wg sync.WaitGroup
	for i := range pods {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func startBare(ctx context.Context, client *bare.Client, dir string, i int, command ...string) (*bare.Pod, error) {
	name := fmt.Sprintf("bare-%d", i)
	logs := filepath.Join(dir, "logs", name)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, err
	}
	return client.Start(ctx, bare.Spec{Name: name, Image: image.BusyboxName, Command: command, LogDir: logs})
}

func endBare(ctx context.Context, client *bare.Client, p *bare.Pod) error {
	if err := client.Stop(ctx, p); err != nil {
		return err
	}
	return client.Remove(ctx, p)
}

const manifest = `apiVersion: v1
kind: Pod
metadata:
  name: bench-%d
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: %s
    imagePullPolicy: IfNotPresent
    command: [%s]
---
`

// runPodctl runs the same pods from one manifest.
func runPodctl(ctx context.Context, program, endpoint, dir string, pods int) error {
	cmd, err := podctlRun(ctx, program, endpoint, dir, pods, `"true"`)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out.String())
	}
	return nil
}

// podctlRun writes the manifest and returns the command that runs it.
func podctlRun(ctx context.Context, program, endpoint, dir string, pods int, command string) (*exec.Cmd, error) {
	var manifests strings.Builder
	for i := range pods {
		fmt.Fprintf(&manifests, manifest, i, image.BusyboxName, command)
	}
	file := filepath.Join(dir, "pods.yaml")
	if err := os.WriteFile(file, []byte(manifests.String()), 0o600); err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, program, "--runtime-endpoint", endpoint, "--root", filepath.Join(dir, "root"),
		"--log-dir", filepath.Join(dir, "podlogs"), "run", "-o", "json", file), nil
}
