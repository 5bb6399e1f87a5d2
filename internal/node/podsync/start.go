package podsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// startContainer takes one container from its image to its postStart hook,
// and keeps why it could not, for the pod's status (startContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go).
func (r *run) startContainer(ctx context.Context, start Start) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := start.Container
	failed := r.tryStart(ctx, start)
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	switch {
	case failed == nil:
		delete(r.m.waiting, c.Name)
		return nil
	case ctx.Err() == nil:
		r.m.waiting[c.Name] = Waiting{Reason: failed.Reason, Message: failed.Message, BackOff: failed.BackOff}
	}
	return failed
}

func (r *run) tryStart(ctx context.Context, start Start) *StartError {
	c := start.Container
	if failed := r.backOff(start); failed != nil {
		return failed
	}
	if failed := r.imagesMounted(ctx, c); failed != nil {
		return failed
	}
	image, failed := r.ensureImage(ctx, c)
	if failed != nil {
		if ctx.Err() == nil {
			r.unstarted(r.p, event.Event{Container: c.Name, Reason: event.Failed}, event.ContainerWait{Reason: failed.Reason}, "Error: %s", failed.Reason)
		}
		return failed
	}
	if err := r.takeTurn(ctx); err != nil {
		return &StartError{Container: c.Name, Reason: reasonCreate, Message: err.Error(), err: err}
	}
	id, failed := r.create(ctx, start, image)
	if failed != nil {
		r.unstarted(r.p, event.Event{Container: c.Name, Reason: event.Failed}, failed.waiting(), "Error: %s", failed.Message)
		return failed
	}
	r.m.actuated[c.Name] = actuated{id, pod.AmountsOf(r.p, c)}
	r.normal(r.p, c.Name, event.Created, "Container created")
	leave := r.enter(pod.StepStart, c.Name, "")
	err := r.opt.Runtime.StartContainer(context.WithoutCancel(ctx), id)
	leave()
	if err != nil {
		text := replaceID(message(err), id, c.Name)
		r.unstarted(r.p, event.Event{Container: c.Name, Reason: event.Failed}, event.ContainerWait{Reason: reasonRun, Message: text}, "Error: %s", text)
		return &StartError{Container: c.Name, Reason: reasonRun, Message: message(err), err: err}
	}
	r.normal(r.p, c.Name, event.Started, "Container started")
	return r.postStart(ctx, c, id)
}

// backOff refuses a container that crashed and may not start yet, and counts
// the start of one that may (doBackOff in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func (r *run) backOff(start Start) *StartError {
	if start.FinishedAt.IsZero() {
		return nil
	}
	c, now := start.Container, r.opt.Now()
	if now.Before(start.NotBefore) {
		failed := &StartError{
			Container: c.Name, Reason: reasonCrashLoop, BackOff: BackOff{RetryAt: start.NotBefore, Delay: start.Backoff},
			Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", start.Backoff, c.Name, podRef(r.p)),
		}
		waiting := failed.waiting()
		waiting.Crash = &event.Crash{BackOffSeconds: start.Backoff.Seconds(), ExitCode: start.ExitCode}
		r.unstarted(r.p, event.Event{Container: c.Name, Reason: event.BackOff}, waiting, "Back-off restarting failed container %s in pod %s", c.Name, podRef(r.p))
		return failed
	}
	r.m.crash.Next(BackoffKey(r.p, c), start.FinishedAt, now)
	return nil
}

// create creates the container. A name that is taken belongs to a leftover of
// a crash; the next attempt has another.
func (r *run) create(ctx context.Context, start Start, image *pod.Image) (id string, failed *StartError) {
	c := start.Container
	attempt := r.attempt(c)
	target, err := r.target(start)
	if err != nil {
		return "", &StartError{Container: c.Name, Reason: reasonConfig, Message: err.Error(), err: err}
	}
	for try := 0; ; try++ {
		cfg, err := r.containerConfig(ctx, c, image, attempt, target)
		if err != nil {
			return "", &StartError{Container: c.Name, Reason: reasonConfig, Message: cause(err), err: err}
		}
		r.acted = true
		leave := r.enter(pod.StepCreate, c.Name, "")
		id, err := r.opt.Runtime.CreateContainer(context.WithoutCancel(ctx), r.sandboxID, cfg, r.sandbox)
		leave()
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, fs.ErrExist) || try == maxReserved {
			return "", &StartError{Container: c.Name, Reason: reasonCreate, Message: message(err), err: err}
		}
		attempt++
	}
}

// target returns the id of the container whose processes an ephemeral container sees,
// "" without one (getTargetID).
func (r *run) target(start Start) (id string, err error) {
	if start.Target == "" {
		return "", nil
	}
	cs := r.st.Container(start.Target)
	if cs == nil {
		return "", fmt.Errorf("unable to find target container %v", start.Target)
	}
	return cs.ID, nil
}

// attempt returns the container's next attempt, and its restart count: one more
// than its last run's, or than the logs of runs that the runtime has
// forgotten.
func (r *run) attempt(c *v1.Container) uint32 {
	if last := r.st.Container(c.Name); last != nil {
		return max(uint32(last.RestartCount), last.Attempt) + 1
	}
	return attemptByLogs(r.opt.Node.LogDirectory(r.p), c.Name)
}

func (r *run) containerConfig(ctx context.Context, c *v1.Container, image *pod.Image, attempt uint32, target string) (*runtimeapi.ContainerConfig, error) {
	if err := r.writeHosts(r.p, r.ips); err != nil {
		return nil, err
	}
	// containerd makes the directory of a log itself, CRI-O does not.
	if err := os.MkdirAll(filepath.Join(r.opt.Node.LogDirectory(r.p), filepath.Dir(render.LogPath(c.Name, attempt))), 0o755); err != nil {
		return nil, fmt.Errorf("create container log directory for container %s failed: %w", c.Name, err)
	}
	in := render.ContainerInput{
		Node:           r.opt.Node,
		Attempt:        attempt,
		Target:         target,
		Image:          *image,
		PodIPs:         r.ips,
		Volumes:        r.volumes,
		Objects:        r.objects,
		EnvFile:        r.envFile,
		TerminationLog: r.terminationLog(r.p, c, r.st),
	}
	var err error
	if in.Devices, err = r.opt.Host.Devices(r.p, c.Name); err != nil {
		return nil, err
	}
	if err := r.mountInput(ctx, c, &in); err != nil {
		return nil, err
	}
	return render.Container(r.p, c, in)
}

// cause returns the text of why a config could not be rendered, without where.
func cause(err error) string {
	if e, ok := errors.AsType[*render.Error](err); ok {
		return e.Unwrap().Error()
	}
	return err.Error()
}

// Starts orders the starts of pods.
type Starts interface {
	// Enter waits until the pod may create and start in the runtime, or until ctx
	// ends. leave lets others do so and may be called twice.
	Enter(ctx context.Context, p *v1.Pod) (leave func(), err error)
}

// takeTurn waits for the pod's turn, if it does not have it.
func (r *run) takeTurn(ctx context.Context) error {
	if r.leave != nil || r.opt.Starts == nil {
		return nil
	}
	defer r.enter(pod.StepTurn, "", "")()
	leave, err := r.opt.Starts.Enter(ctx, r.p)
	if err != nil {
		return err
	}
	r.leave = leave
	return nil
}

// endTurn lets other pods start: before anything that may take long without the
// runtime having much to do, and at the end of the sync.
func (r *run) endTurn() {
	if r.leave != nil {
		r.leave()
		r.leave = nil
	}
}

// Start returns how far the start of the pod is.
func (s *Syncer) Start(uid types.UID) pod.Start {
	s.mu.Lock()
	m := s.pods[uid]
	s.mu.Unlock()
	if m == nil {
		return pod.Start{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.start
}

// beginStart records that the start of the pod begins, if it gets a sandbox.
func (r *run) beginStart() {
	if r.plan.CreateSandbox {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		r.m.start.Begin(r.opt.Now())
	}
}

// enter records that a step of the start begins, until leave is called.
func (r *run) enter(step pod.StartStep, container, image string) (leave func()) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.start.Enter(step, container, image, r.opt.Now())
	return func() {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		r.m.start.Leave(r.opt.Now())
	}
}

// endStart records that the containers of the plan were started, if these are not only
// init containers.
func (r *run) endStart() {
	if len(r.plan.Containers) > 0 {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		r.m.start.End(r.opt.Now())
	}
}
