package podsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/logrotate"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

// Sync brings the runtime one step closer to the pod: it makes every change
// that does not wait for a container. It may be repeated after an error or a
// crash at any point. An error with RetryAt has the time of the next retry.
//
// A cancelled context takes effect between two calls, in an image pull, a
// hook, and the stop of a container; creating and starting are completed, so
// that nothing appears in the runtime while the pod is being terminated (SyncPod in pkg/kubelet/kubelet.go and
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func (s *Syncer) Sync(ctx context.Context, in SyncInput) (res Result, err error) {
	p, st := in.Pod, orEmpty(in.Pod, in.Status)
	s.learnSecrets(p, in.Objects)
	defer s.maskResult(p.UID, &res, &err)
	before, _ := s.Status(p.UID)
	s.followResize(p, st, in.Adopted)
	res.Status = s.publish(p, st, false, nil)
	if pod.IsTerminal(res.Status.Phase) {
		if res.Status.Reason == reasonDeadline && !pod.IsTerminal(before.Phase) {
			s.normal(p, "", event.DeadlineExceeded, messageDeadline)
		}
		res.Terminal = true
		return res, nil
	}
	res.Deadline, _ = Deadline(p, res.Status)
	if err := s.networkReady(ctx, p); err != nil {
		return res, err
	}
	r := &run{Syncer: s, p: p, st: st, m: s.remember(p.UID), ips: st.IPs, objects: in.Objects, images: map[string]*pod.Image{}}
	r.plan = Actions(p, st, r.actionInput(isRestartingAll(&res.Status)))
	if len(r.plan.Reset) > 0 && !r.plan.KillPod {
		if err := r.restartAll(ctx); err != nil {
			res.Acted = r.acted
			return res, fmt.Errorf("restart all containers: %w", err)
		}
		res.Status = s.publish(p, r.st, false, nil)
		r.plan = Actions(p, r.st, r.actionInput(false))
	}
	if r.plan.Empty() {
		res.Acted = r.acted
		return res, r.mount(ctx)
	}
	r.beginStart()
	if err = r.carryOut(ctx); err == nil {
		r.endStart()
	}
	res.Acted, res.Resized = r.acted, r.plan.resizes() && err == nil
	res.Started = r.started
	res.Status = s.publish(p, r.st, false, nil)
	return res, err
}

func (s *Syncer) networkReady(ctx context.Context, p *v1.Pod) error {
	if pod.IsHostNetwork(p) {
		return nil
	}
	if err := s.opt.Host.NetworkReady(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		s.failed(ctx, p, event.NetworkNotReady, opSync, event.LayerNetwork, err, "network is not ready: %v", err)
		return event.At(event.LayerNetwork, fmt.Errorf("%w: %w", worker.ErrNetworkNotReady, err))
	}
	return nil
}

// run carries out one plan.
type run struct {
	*Syncer
	p    *v1.Pod
	st   *pod.Status
	m    *memory
	plan Plan

	sandboxID string
	sandbox   *runtimeapi.PodSandboxConfig
	ips       []string
	volumes   map[string]string
	objects   *pod.Objects
	// users is the pod's user namespace, once it is known that it has one.
	users *runtimeapi.UserNamespace
	// imageVolumes are the pod's volumes that are images, by name; nil unless
	// containers are to be started.
	imageVolumes map[string]imageVolume
	// images are those known to be present, by name: containers of one pod
	// often share one.
	images map[string]*pod.Image
	// missingSecrets are the pull secrets of the pod that are not there, pullFailed
	// whether an image could not be pulled.
	missingSecrets []string
	pullFailed     bool
	acted          bool
	started        bool
	// leave ends the pod's turn to start, nil while it has none.
	leave func()
}

func (r *run) actionInput(restartAll bool) ActionInput {
	return ActionInput{
		Probes: r.opt.Host.Probes(r.p.UID), Requested: r.m.requestedRuns(r.st), RestartAll: restartAll, Backoff: &r.m.crash, Now: r.opt.Now(),
		Actuated: r.actuated(), ActuatedPod: r.m.actuatedPod,
	}
}

// carryOut makes the changes of the plan in order. It stops at the first failure,
// except for the starts of containers, which fail one by one.
func (r *run) carryOut(ctx context.Context) error {
	defer r.endTurn()
	for _, step := range []func(context.Context) error{r.sign, r.mount, r.kill, r.remove, r.prepare, r.ensureSandbox} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	defer r.reportMissingSecrets()
	return r.start(ctx)
}

// sign writes the pod's record before anything else is created, so that it is found
// after a crash.
func (r *run) sign(ctx context.Context) error {
	if !r.plan.Starts() {
		return nil
	}
	if err := r.opt.Host.Sign(r.p); err != nil {
		r.failed(ctx, r.p, event.Failed, opSync, event.LayerHost, err, "error making pod data directories: %v", err)
		return event.At(event.LayerHost, fmt.Errorf("record the pod: %w", err))
	}
	return nil
}

// prepare makes what containers need on the host, if any is to be started: in the turn
// of a pod that gets a sandbox, because the CPU time for it would delay the pods
// before it.
func (r *run) prepare(ctx context.Context) error {
	if !r.plan.Starts() {
		return nil
	}
	if r.plan.CreateSandbox {
		if err := r.takeTurn(ctx); err != nil {
			return err
		}
	}
	if err := r.opt.Cgroups.Ensure(ctx, r.p); err != nil {
		r.failed(ctx, r.p, event.FailedCreatePodContainer, opSync, event.LayerCgroup, err, "unable to ensure pod container exists: %v", err)
		return event.At(event.LayerCgroup, fmt.Errorf("make pod cgroup: %w", err))
	}
	if err := os.MkdirAll(r.opt.Node.LogDirectory(r.p), 0o755); err != nil {
		return event.At(event.LayerHost, fmt.Errorf("make log directory: %w", err))
	}
	return nil
}

// kill stops the pod, or those of its containers that the plan kills.
func (r *run) kill(ctx context.Context) error {
	if r.plan.KillPod {
		if r.plan.CreateSandbox && r.plan.SandboxID != "" {
			r.normal(r.p, "", event.SandboxChanged, "Pod sandbox changed, it will be killed and re-created.")
		}
		r.acted = r.acted || len(r.st.Sandboxes) > 0 || r.st.AnyRunning()
		errs := r.killPod(ctx, r.p, r.m, r.st, nil)
		if len(errs) > 0 && r.m.sandboxFailure != nil { // a sandbox that did not start may not stop either
			errs = append([]error{r.m.sandboxFailure}, errs...)
		}
		return joinErrors(errs, r.opt.Now())
	}
	for _, k := range r.plan.Kill {
		r.acted = true
		if err := r.killContainer(ctx, kill{
			p: r.p, m: r.m, id: k.ID, name: k.Name, ip: r.podIP(r.p, r.st.IPs), reason: k.Reason, message: k.Message,
		}); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes dead init containers and their logs. A failure is logged and
// retried with the next sync.
func (r *run) remove(ctx context.Context) error {
	for _, id := range r.plan.Remove {
		r.acted = true
		if err := r.opt.Runtime.RemoveContainer(ctx, id); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.opt.Log.Warn("dead init container stays", "pod", pod.DisplayName(r.p.Namespace, r.p.Name), "uid", r.p.UID, "container", id, "err", err)
			continue
		}
		if cs := r.st.ContainerByID(id); cs != nil && cs.LogPath != "" {
			_ = logrotate.Remove(cs.LogPath) // a log that stays does no harm
		}
	}
	return nil
}

// start resizes the pod and starts the planned containers: ephemeral ones independently, init
// containers until one fails that is not a sidecar, then the others independently.
func (r *run) start(ctx context.Context) error {
	var errs []error
	fail := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return joinErrors(append(errs, err), r.opt.Now())
	}
	if err := r.resize(ctx); err != nil {
		if ctx.Err() != nil {
			return fail(err)
		}
		errs = append(errs, err)
	}
	if len(r.plan.Ephemeral)+len(r.plan.Init)+len(r.plan.Containers) > 0 {
		r.pullImageVolumes(ctx)
	}
	for _, start := range r.plan.Ephemeral {
		if r.plan.KillPod {
			break // there is no sandbox any more
		}
		if err := r.startContainer(ctx, start); err != nil {
			if ctx.Err() != nil {
				return fail(err)
			}
			errs = append(errs, err)
		}
	}
	for _, start := range r.plan.Init {
		if err := r.startContainer(ctx, start); err != nil {
			if ctx.Err() != nil || !pod.IsSidecar(start.Container) {
				return fail(err)
			}
			errs = append(errs, err)
		}
	}
	for _, start := range r.plan.Containers {
		if err := r.startContainer(ctx, start); err != nil {
			if ctx.Err() != nil {
				return fail(err)
			}
			errs = append(errs, err)
		}
	}
	return joinErrors(errs, r.opt.Now())
}
