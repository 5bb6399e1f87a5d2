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
)

// listRounds is how often each way of listing is timed.
const listRounds = 25

// listing is one way to list all pods, timed.
type listing struct {
	took time.Duration
	cpu  time.Duration // of its process; 0 in this one
}

// benchList times `podctl pods` against the two lists that it needs:
// made over a connection that is open, and by a process that connects, makes
// them and exits (this program, started again): the cost of a tool that only makes
// the calls.
func benchList(ctx context.Context, o options, endpoint string) error {
	client, err := bare.Dial(endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	ways := []struct {
		name string
		list func() (listing, error)
	}{
		{"the two lists alone", func() (listing, error) {
			begin := time.Now()
			err := makeLists(ctx, client)
			return listing{took: time.Since(begin)}, err
		}},
		{"a process that makes them", func() (listing, error) {
			return timeProcess(exec.CommandContext(ctx, os.Args[0], "-r", endpoint, "-list"))
		}},
		{"podctl pods", func() (listing, error) {
			return timeProcess(exec.CommandContext(ctx, o.podctl, "-r", endpoint, "pods"))
		}},
	}
	results := make([][]listing, len(ways))
	for range listRounds {
		for i, way := range ways {
			l, err := way.list()
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			results[i] = append(results[i], l)
		}
	}
	fmt.Printf("listing %d pods, median of %d rounds\n", o.idle, listRounds)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\ttime\tCPU")
	for i, way := range ways {
		fmt.Fprintf(t, "%s\t%.1f ms", way.name, 1e3*median(results[i], func(l listing) float64 { return l.took.Seconds() }))
		if cpu := median(results[i], func(l listing) time.Duration { return l.cpu }); cpu > 0 {
			fmt.Fprintf(t, "\t%.1f ms", cpu.Seconds()*1e3)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	fmt.Println("goal: no more than 10 ms above the process; crictl pods took 10 ms on a machine at rest")
	fmt.Println()
	return nil
}

func timeProcess(cmd *exec.Cmd) (listing, error) {
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	l := listing{took: time.Since(begin)}
	if err != nil {
		return l, fmt.Errorf("%w\n%s", err, out)
	}
	l.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return l, nil
}

// listOnce is what `bench -list` runs.
func listOnce(ctx context.Context, endpoint string) error {
	client, err := bare.Dial(endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	return makeLists(ctx, client)
}

func makeLists(ctx context.Context, client *bare.Client) error {
	if _, err := client.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{}); err != nil {
		return err
	}
	_, err := client.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	return err
}
