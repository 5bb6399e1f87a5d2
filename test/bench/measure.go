package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/record"
)

// result is one round of one contender.
type result struct {
	first   time.Duration // until the first call: the program's own start
	up      time.Duration // until the first container was started
	started time.Duration // until the last one was
	stopped time.Duration // until the last sandbox was stopped
	total   time.Duration // until nothing was left
	reads   map[string]int
	changes map[string]int
}

// measure runs the contender once, what it prepares aside; it is an error if it leaves
// anything.
func measure(ctx context.Context, proxy *record.Proxy, endpoint string, c contender, pods int) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	run, err := c.prepare(ctx, pods)
	if err != nil {
		return result{}, fmt.Errorf("%s, %d pods: %w", c.name, pods, err)
	}
	proxy.Take()
	begin := time.Now()
	err = run()
	total := time.Since(begin)
	if err != nil {
		return result{}, fmt.Errorf("%s, %d pods: %w", c.name, pods, err)
	}
	r := evaluate(begin, proxy.Take())
	r.total = total
	if got := r.changes["StartContainer"]; got != pods {
		return result{}, fmt.Errorf("%s started %d containers for %d pods", c.name, got, pods)
	}
	left, err := bare.List(endpoint)
	if err != nil {
		return result{}, err
	}
	if len(left) > 0 {
		return result{}, fmt.Errorf("%s, %d pods: left over: %s", c.name, pods, strings.Join(left, ", "))
	}
	return r, nil
}

// evaluate reads the times from the calls, which are in the order of their
// ends. A sandbox that is stopped more than once counts by its first time.
func evaluate(begin time.Time, calls []record.Call) result {
	r := result{reads: map[string]int{}, changes: map[string]int{}}
	stopped := map[string]bool{}
	for i, c := range calls {
		if at := c.Start.Sub(begin); i == 0 || at < r.first {
			r.first = at
		}
		if c.IsRead() {
			r.reads[c.Method]++
			continue
		}
		r.changes[c.Method]++
		if c.Err != nil {
			continue
		}
		switch c.Method {
		case "StartContainer":
			r.started = c.End.Sub(begin)
			if r.up == 0 {
				r.up = r.started
			}
		case "StopPodSandbox":
			if id := sandboxOf(c); !stopped[id] {
				stopped[id] = true
				r.stopped = c.End.Sub(begin)
			}
		}
	}
	return r
}

func sandboxOf(c record.Call) string {
	var request runtimeapi.StopPodSandboxRequest
	if err := proto.Unmarshal(c.Request, &request); err != nil {
		return ""
	}
	return request.PodSandboxId
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}
