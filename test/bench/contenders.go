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

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/test/live/image"
)

// runBare runs the pods side by side with the calls that they need and no
// other.
func runBare(ctx context.Context, own *PodMaker, exits *Exits, pods int) error {
	return sideBySide(pods, func(i int) error {
		p, err := own.Start(ctx, i)
		if err != nil {
			return err
		}
		if _, err := exits.Wait(ctx, p.ContainerID); err != nil {
			return err
		}
		return own.Remove(ctx, p)
	})
}

// ownPods are pods with nothing of podctl's but its client. The caller closes the client.
func ownPods(ctx context.Context, endpoint, dir string, command ...string) (*PodMaker, error) {
	client, err := cri.Connect(ctx, cri.Options{Endpoint: cri.Endpoint{Runtime: endpoint}})
	if err != nil {
		return nil, err
	}
	return &PodMaker{Client: client, Image: image.BusyboxName, Command: command, Mark: "test", LogDir: filepath.Join(dir, "logs")}, nil
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
