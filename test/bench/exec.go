package main

import (
	"context"
	"time"
)

// execRounds is how often each way of running a command is timed.
const execRounds = 25

// benchExec times `true` in a container: by ExecSync over a connection that is open,
// by podctl, and by crictl if there is one in PATH, as whole processes, with and
// without streams.
func benchExec(ctx context.Context, o options) error {
	return withSleeper(ctx, o, func(own *PodMaker, p *Pod) error {
		process := func(program string, args ...string) func() (listing, error) {
			return command(ctx, program, append([]string{"-r", o.endpoint, "exec"}, args...)...)
		}
		ways := []way{{name: "ExecSync alone", run: func() (listing, error) {
			begin := time.Now()
			_, err := own.Client.ExecSync(ctx, p.ContainerID, []string{"true"}, 0)
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
