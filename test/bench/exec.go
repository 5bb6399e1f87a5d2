package main

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live/bare"
)

// execRounds is how often each way of running a command is timed.
const execRounds = 25

// benchExec times `true` in a container: by ExecSync over a connection that is open,
// by podctl, and by crictl if there is one in PATH, as whole processes, with and
// without streams.
func benchExec(ctx context.Context, o options) error {
	return withSleeper(ctx, o, "bench-exec", func(client *bare.Client, p *bare.Pod) error {
		process := func(program string, args ...string) func() (listing, error) {
			return command(ctx, program, append([]string{"-r", o.endpoint, "exec"}, args...)...)
		}
		ways := []way{{name: "ExecSync alone", run: func() (listing, error) {
			begin := time.Now()
			_, err := client.Runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: p.ContainerID, Cmd: []string{"true"}})
			return listing{took: time.Since(begin)}, err
		}}}
		if o.podctl != "" {
			ways = append(ways,
				way{name: "podctl exec", run: process(o.podctl, p.Name, "--", "true"), peer: "crictl exec -s", ratio: 1},
				way{name: "podctl exec -i", run: process(o.podctl, "-i", p.Name, "--", "true"), peer: "crictl exec", ratio: 1})
		}
		if crictl := findCrictl(); crictl != "" {
			ways = append(ways,
				way{name: "crictl exec -s", run: process(crictl, "-s", p.ContainerID, "true")},
				way{name: "crictl exec", run: process(crictl, p.ContainerID, "true")})
		}
		return versus("exec of true", execRounds, ways)
	})
}
