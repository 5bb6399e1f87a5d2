package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

const (
	// deadContainers of deadPods that have ended, deadSize bytes each in a list: more
	// than one message of gRPC holds.
	deadContainers, deadPods, deadSize = 20_000, 100, 1_000
)

// deadCommands are what is timed beside so many dead containers; the last one removes them.
var deadCommands = [][]string{
	{"pods"}, {"orphans"}, {"terminating"}, {"pleg", "check", "--samples", "3"}, {"images"}, {"orphans", "--kill", "--rm"},
}

// benchDead times commands on a simulated runtime with more dead containers than one
// message holds, with and without streamed lists: time, CPU time and peak memory of
// their process.
func benchDead(ctx context.Context, o options) error {
	for _, streams := range []bool{true, false} {
		if err := deadOnce(ctx, o, streams); err != nil {
			return err
		}
	}
	return nil
}

func deadOnce(ctx context.Context, o options, streams bool) error {
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rt := sim.New(sim.Options{})
	defer rt.Close()
	socket := filepath.Join(dir, "cri.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	go func() { _ = rt.Serve(listener) }() // until it is closed
	if !streams {
		for _, method := range []string{"StreamContainers", "StreamPodSandboxes"} {
			rt.Inject("method=" + method + " error=Unimplemented message=\"unknown method " + method + "\"")
		}
	}
	rt.Script("job", sim.Script{Program: &sim.Program{}})
	if err := fillDead(ctx, rt); err != nil {
		return err
	}
	fmt.Printf("%d dead containers of %d pods, streamed lists: %v\n", deadContainers, deadPods, streams)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "command\ttime\tCPU\tmemory")
	for _, args := range deadCommands {
		cmd := exec.CommandContext(ctx, o.podctl, append([]string{
			"-r", "unix://" + socket, "--root", filepath.Join(dir, "root"), "--log-dir", filepath.Join(dir, "logs"), "--run-dir", filepath.Join(dir, "run"),
		}, args...)...)
		begin := time.Now()
		peak, err := runMeasured(cmd)
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		l := listing{time.Since(begin), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f MB\n", strings.Join(args, " "), milliseconds(l.took), milliseconds(l.cpu), float64(peak)/1e3)
		t.Flush()
	}
	fmt.Println()
	return nil
}

// runMeasured runs a program and returns the most memory that it was seen to have, in
// kB. Its rusage would count that of this process, too, of which it is forked.
func runMeasured(cmd *exec.Cmd) (peak int, err error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, &stderr)
			}
			return peak, err
		case <-time.After(5 * time.Millisecond):
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // nothing if it has ended
		if _, rest, ok := strings.Cut(string(text), "VmHWM:"); ok {
			_, _ = fmt.Sscan(rest, &peak)
		}
	}
}

// fillDead makes the pods: each has ended, and has the same number of dead attempts.
func fillDead(ctx context.Context, rt *sim.Runtime) error {
	pad := map[string]string{"pad": strings.Repeat("x", deadSize)}
	for i := range deadPods {
		sandbox := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{
			Name: fmt.Sprintf("cron-%03d", i), Namespace: "default", Uid: fmt.Sprintf("6f1a3c52-0000-4000-8000-%012d", i)}}
		made, err := rt.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: sandbox})
		if err != nil {
			return err
		}
		for attempt := range deadContainers / deadPods {
			c, err := rt.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
				PodSandboxId: made.PodSandboxId, SandboxConfig: sandbox,
				Config: &runtimeapi.ContainerConfig{
					Metadata: &runtimeapi.ContainerMetadata{Name: "job", Attempt: uint32(attempt)},
					Image:    &runtimeapi.ImageSpec{Image: "registry.example/team/app:v1"}, Annotations: pad,
				},
			})
			if err != nil {
				return err
			}
			if _, err := rt.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId}); err != nil {
				return err
			}
		}
		if _, err := rt.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: made.PodSandboxId}); err != nil {
			return err
		}
	}
	return nil
}
