package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"text/tabwriter"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
)

// execRounds is how often each way of running a command is timed.
const execRounds = 25

// benchExec times `true` in a container: by ExecSync over a connection that is open,
// by podctl, and by crictl if there is one in PATH, as whole processes, with and
// without streams.
func benchExec(ctx context.Context, o options) (err error) {
	client, err := bare.Dial(o.endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	logs, err := os.MkdirTemp("", "podctl-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(logs)
	p, err := client.Start(ctx, bare.Spec{Name: "bench-exec", Image: image.BusyboxName, Command: []string{"sleep", "3600"}, LogDir: logs})
	if err != nil {
		return err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		if stopped := client.Stop(ctx, p); err == nil {
			err = stopped
		}
		if removed := client.Remove(ctx, p); err == nil {
			err = removed
		}
	}()
	type way struct {
		name string
		run  func() (listing, error)
	}
	process := func(program string, args ...string) func() (listing, error) {
		return func() (listing, error) {
			return timeProcess(exec.CommandContext(ctx, program, append([]string{"-r", o.endpoint, "exec"}, args...)...))
		}
	}
	ways := []way{
		{"ExecSync alone", func() (listing, error) {
			begin := time.Now()
			_, err := client.Runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: p.ContainerID, Cmd: []string{"true"}})
			return listing{took: time.Since(begin)}, err
		}},
		{"podctl exec", process(o.podctl, "bench-exec", "--", "true")},
		{"podctl exec -i", process(o.podctl, "-i", "bench-exec", "--", "true")},
	}
	crictl, missing := exec.LookPath("crictl")
	if missing == nil {
		ways = append(ways, way{"crictl exec -s", process(crictl, "-s", p.ContainerID, "true")}, way{"crictl exec", process(crictl, p.ContainerID, "true")})
	}
	results := make([][]listing, len(ways))
	for range execRounds {
		for i, way := range ways {
			l, err := way.run()
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			results[i] = append(results[i], l)
		}
	}
	fmt.Printf("exec of true, median of %d rounds\n", execRounds)
	seconds := func(i int) float64 {
		return median(results[i], func(l listing) float64 { return l.took.Seconds() })
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\ttime\tCPU\t× crictl exec")
	for i, way := range ways {
		fmt.Fprintf(t, "%s\t%.1f ms\t%.1f ms\t", way.name, 1e3*seconds(i), 1e3*median(results[i], func(l listing) time.Duration { return l.cpu }).Seconds())
		if missing == nil {
			fmt.Fprintf(t, "%.2f", seconds(i)/seconds(len(ways)-1))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	if missing != nil {
		fmt.Println("crictl is not in PATH")
	}
	fmt.Println("goal: podctl exec ≤ crictl exec -s, podctl exec -i ≤ crictl exec")
	fmt.Println()
	return nil
}
