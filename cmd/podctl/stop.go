package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/host"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/volume"
)

// stopOptions are what `podctl stop` and `podctl rm` were asked for.
type stopOptions struct {
	globals
	names     []string
	namespace string
	// grace in seconds, nil for the pods' own.
	grace         *int64
	besideKubelet bool
	// remove what is left; force: with no patience.
	remove, force bool
}

func stopCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Usage:     "end pods, and keep them so",
		ArgsUsage: "[NAMESPACE/]NAME …",
		Description: "A pod that a podctl manages is ended by that one, with its hooks and grace, and stays so\n" +
			"until its manifest changes, or podctl start. One that nobody manages is ended by calls of\n" +
			"the runtime. Ctrl-C stops waiting; the pods go on ending.",
		Flags: stopFlags(),
		Action: func(c *cli.Context) error {
			o, err := readStop(c)
			if err != nil {
				return err
			}
			return e.untilInterrupted(c.Context, func(ctx context.Context) error { return runStop(ctx, e, o) })
		},
	}
}

func rmCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "end pods, and remove what is left of them",
		ArgsUsage: "[NAMESPACE/]NAME …",
		Description: "As podctl stop, and then the pod's containers and sandboxes are removed; of a pod whose podctl\n" +
			"has died its directory and logs, too. --force gives the pod no grace, and goes on by calls\n" +
			"of the runtime where its podctl gets nowhere.",
		Flags: append(stopFlags(), &cli.BoolFlag{Name: "force", Usage: "with no patience"}),
		Action: func(c *cli.Context) error {
			o, err := readStop(c)
			if err != nil {
				return err
			}
			o.remove, o.force = true, c.Bool("force")
			if o.force && o.grace == nil {
				o.grace = new(int64)
			}
			return e.untilInterrupted(c.Context, func(ctx context.Context) error { return runStop(ctx, e, o) })
		},
	}
}

func stopFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Value: "default", DefaultText: "default", Usage: "`NAMESPACE` of names without one"},
		&cli.Int64Flag{Name: "grace-period", DefaultText: "the pods' own", Usage: "`SECONDS` that pods are given to end, where that is less than their own"},
		&cli.BoolFlag{Name: "beside-kubelet", Usage: "end even a kubelet's pods, which it then starts again"},
	}
}

func readStop(c *cli.Context) (stopOptions, error) {
	o := stopOptions{
		globals: readGlobals(c), names: c.Args().Slice(), namespace: c.String("namespace"), besideKubelet: c.Bool("beside-kubelet"),
	}
	if c.IsSet("grace-period") {
		grace := c.Int64("grace-period")
		o.grace = &grace
	}
	switch {
	case len(o.names) == 0:
		return o, &usageError{message: "no pod given", hint: "podctl " + c.Command.Name + " NAMESPACE/NAME; podctl pods lists them"}
	case o.grace != nil && *o.grace < 0:
		return o, usagef("--grace-period %d is negative", *o.grace)
	}
	return o, nil
}

// runStop ends the pods side by side.
func runStop(ctx context.Context, e *env, o stopOptions) (err error) {
	client, stop, err := connect(ctx, e, o.globals)
	if err != nil {
		return err
	}
	defer stop()
	p, err := o.globals.paths(client.Endpoint())
	if err != nil {
		return err
	}
	all, err := newReader(e, p.Locks).Pods(ctx, client)
	if err != nil {
		return err
	}
	s := &stopping{env: e, opts: o, client: client, dir: p.Locks}
	if o.remove {
		s.leftovers = host.Leftovers{
			Volumes: volume.New(p.Root), Logs: p.Logs, Step: func(call string) { e.log.Info("remove what is left", "call", call) },
		}
		cgroups, err := daemon.OpenCgroups(ctx, client, daemon.CgroupOptions{Root: o.cgroupRoot, Log: e.log})
		if err != nil {
			return err
		}
		s.leftovers.Cgroups = cgroups
		defer func() { err = errors.Join(err, cgroups.RemoveEmptyParents()) }()
	}
	errs := make([]error, len(o.names))
	var ending sync.WaitGroup
	for i, name := range o.names {
		ending.Go(func() {
			h, err := inventory.Find(all, name, o.namespace)
			if err == nil {
				err = s.end(ctx, h)
			}
			errs[i] = err
		})
	}
	ending.Wait()
	return errors.Join(errs...)
}

// stopping is one `podctl stop` or `podctl rm` under way.
type stopping struct {
	env    *env
	opts   stopOptions
	client *cri.Client
	dir    string
	// leftovers are removed here if no podctl manages the pod.
	leftovers host.Leftovers

	mu sync.Mutex
}

// say prints a line of data.
func (s *stopping) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.env.out, format+"\n", args...)
}

// forceWait is how long rm --force leaves a pod to its podctl.
const forceWait = 10 * time.Second

func (s *stopping) end(ctx context.Context, h *inventory.Pod) error {
	if !h.Managed() {
		return s.endUnmanaged(ctx, h)
	}
	waiting := ctx
	if s.opts.force {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, forceWait)
		defer cancel()
	}
	err := h.Manager.Stop(waiting, h.Namespace, h.Name, s.opts.grace)
	switch {
	case err != nil && (!s.opts.force || ctx.Err() != nil):
		return err
	case err == nil && !s.opts.remove:
		s.say("%s stopped by %s", h.DisplayName(), h.Manager.Instance())
		return nil
	}
	return s.finish(ctx, h, cri.TerminateOptions{Escalate: s.opts.force, Remove: true})
}

// endUnmanaged ends a pod that no living podctl manages. Its name is claimed
// meanwhile, so that none begins to.
func (s *stopping) endUnmanaged(ctx context.Context, h *inventory.Pod) error {
	if h.Runtime == nil { // one that was not let in
		return fmt.Errorf("end pod %s: it does not run: %s", h.DisplayName(), h.Worker.Rejected)
	}
	if err := s.checkKubelet(h); err != nil {
		return err
	}
	locks, err := owner.Open(s.dir, instanceName("stop"))
	if err != nil {
		return err
	}
	defer func() { _ = locks.Close() }() // the process ends soon
	if err := locks.Claim(h.Runtime.FullName()); err != nil {
		return err
	}
	grace := s.graceOf(ctx, h)
	return s.finish(ctx, h, cri.TerminateOptions{Grace: grace, Escalate: s.opts.force, Remove: s.opts.remove})
}

// checkKubelet refuses to end what a kubelet would start again.
func (s *stopping) checkKubelet(h *inventory.Pod) error {
	path, unix := strings.CutPrefix(s.client.Endpoint().Runtime, "unix://")
	if h.Kind() == inventory.KindPodctl || s.opts.besideKubelet || !unix {
		return nil
	}
	if kubelet.CheckNone(path) != nil {
		return &kubeletsPodError{h.DisplayName()}
	}
	return nil
}

// kubeletsPodError: a pod may be a living kubelet's.
type kubeletsPodError struct{ name string }

func (e *kubeletsPodError) Error() string {
	return fmt.Sprintf("end pod %s: a kubelet uses this runtime, and would start its pod again", e.name)
}

func (e *kubeletsPodError) Hint() string {
	return "delete it where the kubelet has it from: kubectl delete pod, or its static manifest; --beside-kubelet ends it all the same"
}

// graceOf is the pod's own grace, or less if that was asked for.
func (s *stopping) graceOf(ctx context.Context, h *inventory.Pod) time.Duration {
	grace := int64(0)
	for _, c := range h.Runtime.Containers {
		if c.State != pod.Running {
			continue
		}
		own := int64(v1.DefaultTerminationGracePeriodSeconds)
		if st, err := s.client.ContainerStatus(ctx, c.ID); err == nil {
			if n, err := strconv.ParseInt(st.Annotations[pod.TerminationGraceAnnotation], 10, 64); err == nil {
				own = n
			}
		}
		grace = max(grace, own)
	}
	if s.opts.grace != nil {
		grace = min(grace, *s.opts.grace)
	}
	return time.Duration(grace) * time.Second
}

// removalTries is how often a call of the runtime may fail because the pod's
// podctl is removing the same, and removalPause how long that is given.
const (
	removalTries = 10
	removalPause = 200 * time.Millisecond
)

// endNow ends what the runtime holds of the pod now. What its podctl removes at
// the same time may fail here, and is gone a moment later.
func (s *stopping) endNow(ctx context.Context, h *inventory.Pod, o cri.TerminateOptions) error {
	for try := 1; ; try++ {
		p, err := s.client.ListPod(ctx, h.UID)
		if err != nil || p == nil {
			return err
		}
		if err = s.client.TerminatePod(ctx, p, o); err == nil {
			return nil
		}
		if !h.Managed() || o.Escalate || try == removalTries {
			return fmt.Errorf("end pod %s: %w", h.DisplayName(), err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(removalPause):
		}
	}
}

// finish goes on by calls of the runtime, and says what has become of the pod.
func (s *stopping) finish(ctx context.Context, h *inventory.Pod, o cri.TerminateOptions) error {
	o.Step = func(call string) { s.env.log.Info("end pod", "pod", h.DisplayName(), "call", call) }
	if err := s.endNow(ctx, h, o); err != nil {
		return err
	}
	if o.Remove && !h.Managed() && h.Creator != "" {
		if err := s.leftovers.Remove(ctx, h.UID, h.Namespace, h.Name); err != nil {
			return fmt.Errorf("remove what is left of %s: %w", h.DisplayName(), err)
		}
	}
	switch {
	case o.Remove && h.Managed():
		s.say("%s removed; %s keeps it stopped", h.DisplayName(), h.Manager.Instance())
	case o.Remove:
		s.say("%s removed", h.DisplayName())
	default:
		s.say("%s stopped; no podctl manages it: podctl rm %s removes what is left", h.DisplayName(), h.DisplayName())
	}
	return nil
}
