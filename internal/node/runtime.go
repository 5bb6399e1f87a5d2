package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

// Runtime is the CRI client.
type Runtime = *cri.Client

// SyncRuntime is the client in the form that podsync asks for.
type SyncRuntime struct{ *cri.Client }

var _ podsync.Runtime = SyncRuntime{}

func (r SyncRuntime) Exec(ctx context.Context, id string, command []string, timeout time.Duration) (output []byte, exitCode int32, err error) {
	res, err := r.ExecSync(ctx, id, command, timeout)
	return append(res.Stdout, res.Stderr...), res.ExitCode, err
}

// MemoryUsed implements podsync.Runtime.
func (r SyncRuntime) MemoryUsed(ctx context.Context) (map[string]int64, error) {
	all, err := r.ContainerStats(ctx)
	used := map[string]int64{}
	for _, s := range all {
		if s.Memory != nil {
			used[s.ID] = int64(*s.Memory)
		}
	}
	return used, err
}

// network remembers for a short while whether the runtime's network is ready.
type network struct {
	rt Runtime
	// asking has room for one: the goroutine that asks the runtime, and may look at what
	// is below.
	asking chan struct{}
	// readyAt is when the runtime last said so.
	readyAt time.Time
}

// networkPeriod is how long it counts that the network was ready; that it was
// not is asked again by the next sync.
const networkPeriod = 5 * time.Second

// isReady returns nil while pods can be given a network. Those who ask at the same time
// wait for one answer; each gives up with its context.
func (n *network) isReady(ctx context.Context) error {
	select {
	case n.asking <- struct{}{}:
		defer func() { <-n.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if time.Since(n.readyAt) < networkPeriod {
		return nil
	}
	status, err := n.rt.Status(ctx)
	switch {
	case err != nil:
		return err
	case !status.Network.OK:
		return errors.New(status.Network.Message)
	}
	n.readyAt = time.Now()
	return nil
}

// runtimeFeatures asks the runtime what it supports. Nothing is remembered: a runtime
// that is restarted may have other handlers, and few pods ask.
type runtimeFeatures struct {
	rt      Runtime
	version cri.Version
	classes admission.RuntimeClasses
	// declared returns the objects that lie beside the pods: RuntimeClasses among them.
	declared func() *pod.Objects
	// stopSignals: see render.Node.StopSignals.
	stopSignals bool
}

// runtimeClasses returns the handlers of the declared runtime classes, and of those that the
// user mapped, which come first.
func (f *runtimeFeatures) runtimeClasses(declared *pod.Objects) admission.RuntimeClasses {
	if declared == nil || len(declared.RuntimeClasses) == 0 {
		return f.classes
	}
	all := admission.RuntimeClasses{}
	for name, class := range declared.RuntimeClasses {
		all[name.Name] = class.Handler
	}
	maps.Copy(all, f.classes)
	return all
}

// handlerOf returns the runtime handler of the pod, "" for the default one.
func (f *runtimeFeatures) handlerOf(p *v1.Pod) string {
	return f.runtimeClasses(f.declared()).Handler(p)
}

// forAdmission returns what admission of the pod depends on, with the runtime's status
// only if the pod needs it.
func (f *runtimeFeatures) forAdmission(ctx context.Context, p *v1.Pod) (admission.Runtime, error) {
	rt := admission.Runtime{
		Name: f.version.String(), Classes: f.runtimeClasses(f.declared()), ImageVolumes: f.version.ImageVolumes(),
		StopSignals: !f.stopSignals || f.version.StopSignals(),
	}
	if !admission.NeedsStatus(p) {
		return rt, nil
	}
	status, err := f.rt.Status(ctx)
	if err != nil {
		return rt, err
	}
	rt.StrictGroups = status.SupplementalGroupsPolicy
	return rt, nil
}

// ofHandler returns what a runtime handler supports.
func (f *runtimeFeatures) ofHandler(ctx context.Context, handler string) (podsync.Features, error) {
	status, err := f.rt.Status(ctx)
	if err != nil || len(status.Handlers) == 0 {
		return podsync.Features{}, err
	}
	i := slices.IndexFunc(status.Handlers, func(h cri.Handler) bool { return h.Name == handler })
	if i < 0 {
		return podsync.Features{}, fmt.Errorf("the handler %q is not known", handler)
	}
	h := status.Handlers[i]
	return podsync.Features{RecursiveReadOnly: h.RecursiveReadOnlyMounts, UserNamespaces: h.UserNamespaces}, nil
}

// checkClasses returns which of the pods name a runtime handler that the runtime does
// not have. If the runtime does not list its handlers, it rejects the handler itself,
// when the pod's sandbox is created.
func (f *runtimeFeatures) checkClasses(ctx context.Context, pods []*v1.Pod, declared *pod.Objects) error {
	rt := admission.Runtime{Classes: f.runtimeClasses(declared)}
	if !slices.ContainsFunc(pods, func(p *v1.Pod) bool { return rt.Classes.Handler(p) != "" }) {
		return nil
	}
	status, err := f.rt.Status(ctx)
	if err != nil {
		return fmt.Errorf("check runtime classes: %w", err)
	}
	for _, h := range status.Handlers {
		rt.Handlers = append(rt.Handlers, h.Name)
	}
	var errs []error
	for _, p := range pods {
		if err := rt.CheckClass(p); err != nil {
			errs = append(errs, fmt.Errorf("pod %q: %w", pod.DisplayName(p.Namespace, p.Name), err))
		}
	}
	return errors.Join(errs...)
}

// RuntimeHandler returns the runtime handler of a pod, "" for the default one.
func (n *Node) RuntimeHandler(p *v1.Pod) string { return n.features.handlerOf(p) }

// CheckRuntimeClasses returns which of the pods name a runtime handler that the runtime
// does not have; declared are the objects beside them.
func (n *Node) CheckRuntimeClasses(ctx context.Context, pods []*v1.Pod, declared *pod.Objects) error {
	return n.features.checkClasses(ctx, pods, declared)
}
