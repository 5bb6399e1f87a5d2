package restart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/stop"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Options say how containers are restarted.
type Options struct {
	// Force restarts containers also if it is not known that their owner starts them again.
	Force bool
	// Wait for the next attempt, for at most Timeout once the grace period is over.
	Wait    bool
	Timeout time.Duration
}

// Restarter restarts containers of one runtime. It is safe for concurrent use.
type Restarter struct {
	Options
	Client *cri.Client
	// Names locks the names of a kubelet's pods.
	Names *stop.Names
	// Owners are asked again before a container of a kubelet's is stopped.
	Owners owners.Asker
	// Dial connects to control sockets; nil is the machine's own.
	Dial control.Dialer
	Log  *slog.Logger

	// askMu serializes questions to owners: each goes to all of them.
	askMu sync.Mutex
}

// Attempt is one run of a container.
type Attempt struct {
	ID     string
	Number uint32
	// ExitCode is nil while it runs, and where it is not known.
	ExitCode *int32
}

// Result is a container that was stopped, or whose restart was requested.
type Result struct {
	Container string
	// By is the process that starts it again: `podctl "agent"`, or its kubelet.
	By  string
	Old Attempt
	// Next is the attempt that followed, nil if it was not waited for. Took is the time
	// from the request until it was seen.
	Next *Attempt
	Took time.Duration
}

// Restart restarts containers of a pod, those that run or wait to restart if none is named.
// With an error, which joins one for each container, it returns the others.
func (r *Restarter) Restart(ctx context.Context, p *view.Pod, containers []string) ([]Result, error) {
	how, err := decide(p.Verdict, r.Force)
	if err != nil {
		return nil, fmt.Errorf("restart %s: %w", p.DisplayName(), err)
	}
	if how == byKubelet {
		return r.restartByKubelet(ctx, p, containers)
	}
	return r.restartByProcess(ctx, p, containers)
}

// restartByProcess has the podctl process of the pod restart containers.
func (r *Restarter) restartByProcess(ctx context.Context, p *view.Pod, containers []string) ([]Result, error) {
	fail := func(err error) ([]Result, error) { return nil, fmt.Errorf("restart %s: %w", p.DisplayName(), err) }
	process := p.Verdict.Process
	client := process.Client(r.Dial)
	object, err := client.Pod(ctx, p.UID)
	if err != nil {
		return fail(err)
	}
	if len(containers) == 0 {
		if containers = podsync.Restartable(object, &object.Status); len(containers) == 0 {
			return fail(hint.Errorf("podctl describe "+p.CLIName(), "no container of it runs"))
		}
	}
	before, err := r.Client.ListPod(ctx, p.DistinctUID())
	if err != nil {
		return fail(err)
	}
	results := make([]Result, len(containers))
	runs := map[string]string{}
	for i, name := range containers {
		results[i] = Result{Container: name, By: process.Title(), Old: attemptOf(newestAttempt(before, name))}
		runs[name] = results[i].Old.ID
	}
	begin := time.Now()
	if err := client.Restart(ctx, p.Namespace, p.Name, runs, r.Force); err != nil {
		return nil, err
	}
	// They are stopped one after the other.
	limit := time.Duration(len(containers))*graceOf(object) + r.Timeout
	errs := make([]error, len(containers))
	var waiting sync.WaitGroup
	for i := range containers {
		waiting.Go(func() {
			errs[i] = r.await(ctx, p, &results[i], begin, limit, func() *v1.Pod {
				now, _ := client.Pod(ctx, p.UID) // what is not known is not said
				return now
			})
		})
	}
	waiting.Wait()
	return succeeded("restart", p, results, errs)
}

// succeeded returns the results without an error, and joins the errors, each with the name of its
// container.
func succeeded(verb string, p *view.Pod, all []Result, errs []error) (results []Result, err error) {
	for i, e := range errs {
		if e != nil {
			errs[i] = fmt.Errorf("%s %s/%s: %w", verb, p.DisplayName(), all[i].Container, e)
			continue
		}
		results = append(results, all[i])
	}
	return results, errors.Join(errs...)
}

// graceOf returns the grace period of a pod.
func graceOf(p *v1.Pod) time.Duration {
	seconds := cmp.Or(p.Spec.TerminationGracePeriodSeconds, new(int64(v1.DefaultTerminationGracePeriodSeconds)))
	return time.Duration(*seconds) * time.Second
}

// newestAttempt returns the newest attempt of a container, nil if the runtime has none.
func newestAttempt(p *pod.Pod, name string) *pod.Container {
	if p == nil {
		return nil
	}
	for _, c := range p.Containers {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func attemptOf(c *pod.Container) Attempt {
	if c == nil {
		return Attempt{}
	}
	return Attempt{ID: c.ID, Number: c.Attempt}
}
