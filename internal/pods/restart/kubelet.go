package restart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/handler"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// itsKubelet is who starts a kubelet's container again.
const itsKubelet = "its kubelet"

// restartByKubelet stops containers of a kubelet's pod, at the same time.
func (r *Restarter) restartByKubelet(ctx context.Context, p *view.Pod, containers []string) ([]Result, error) {
	stopped, object, err := r.stopLocked(ctx, p, containers)
	errs := make([]error, len(stopped))
	var waiting sync.WaitGroup
	for i := range stopped {
		waiting.Go(func() {
			errs[i] = r.await(ctx, p, &stopped[i], time.Now().Add(-stopped[i].Took), r.Timeout, func() *v1.Pod {
				_, now, _ := r.lookAgain(ctx, p) // what is not known is not said
				return cmp.Or(now, object)
			})
		})
	}
	waiting.Wait()
	results, late := succeeded("restart", p, stopped, errs)
	return results, errors.Join(err, late)
}

// stopLocked stops containers of a kubelet's pod with its name locked. It returns those
// that it stopped, and the pod as the kubelet shows it, nil if it does not answer.
func (r *Restarter) stopLocked(ctx context.Context, p *view.Pod, containers []string) (stopped []Result, object *v1.Pod, err error) {
	fail := func(err error) ([]Result, *v1.Pod, error) {
		return nil, nil, fmt.Errorf("restart %s: %w", p.DisplayName(), err)
	}
	release, err := r.Names.Lock(p.Namespace, p.Name, false)
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, release()) }()
	now, object, err := r.lookAgain(ctx, p)
	if err != nil {
		return fail(err)
	}
	if containers, err = selectContainers(now, object, containers); err != nil {
		return fail(err)
	}
	all, errs := make([]Result, len(containers)), make([]error, len(containers))
	for i, name := range containers {
		all[i] = Result{Container: name, By: itsKubelet, Old: attemptOf(newestAttempt(now, name))}
		errs[i] = r.checkRestarts(object, newestAttempt(now, name), name)
	}
	if refused := errors.Join(errs...); refused != nil {
		_, err := succeeded("restart", p, all, errs)
		return nil, nil, err
	}
	var stopping sync.WaitGroup
	for i, name := range containers {
		stopping.Go(func() {
			begin := time.Now()
			errs[i] = r.stop(ctx, object, newestAttempt(now, name))
			all[i].Took = time.Since(begin)
		})
	}
	stopping.Wait()
	stopped, err = succeeded("restart", p, all, errs)
	return stopped, object, err
}

// lookAgain returns what the runtime has of the pod now, and the pod as its kubelet shows
// it, nil if that does not; or why its containers are not restarted.
func (r *Restarter) lookAgain(ctx context.Context, p *view.Pod) (*pod.Pod, *v1.Pod, error) {
	now, err := r.Client.ListPod(ctx, p.DistinctUID())
	if err == nil && now == nil {
		err = errors.New("its pod is gone")
	}
	if err != nil {
		return nil, nil, err
	}
	r.askMu.Lock()
	defer r.askMu.Unlock()
	answers, err := r.Owners.Ask(ctx, r.Client, []*pod.Pod{now})
	if err != nil {
		return nil, nil, err
	}
	how, err := decide(answers.Judge(now), r.Force)
	if err == nil && how != byKubelet {
		err = errors.New("a podctl process has it now")
	}
	return now, answers.Kubelet.Object(p.GivenUID()), err
}

// selectContainers returns the containers that are named, else those of the pod that run, without
// those that its spec, as far as it is known, never starts again.
func selectContainers(now *pod.Pod, object *v1.Pod, named []string) ([]string, error) {
	if len(named) > 0 {
		return named, nil
	}
	for _, c := range now.Containers {
		if c.State == pod.Running && (object == nil || podsync.HasRestarts(object, c.Name)) {
			named = append(named, c.Name)
		}
	}
	if len(named) == 0 {
		return nil, hint.Errorf("podctl describe "+pod.DisplayName(now.Namespace, now.Name), "no container of it runs")
	}
	return named, nil
}

// checkRestarts returns an error unless the kubelet starts a container again once it has stopped.
func (r *Restarter) checkRestarts(object *v1.Pod, c *pod.Container, name string) error {
	if object != nil {
		request := podsync.RestartRequest{Pod: object, Status: &object.Status, Container: name, ID: attemptOf(c).ID, ByKubelet: true, Force: r.Force}
		if err := request.Check(); err != nil {
			return err
		}
	}
	if c == nil || c.State != pod.Running {
		return errors.New("it is not running")
	}
	return nil
}

// stop runs the preStop hook of a container and stops it with the rest of its grace period,
// in whole seconds as a kubelet does. A hook that takes longer ends with the container.
func (r *Restarter) stop(ctx context.Context, object *v1.Pod, c *pod.Container) error {
	grace := r.grace(ctx, object, c)
	var spec *v1.Container // nil if the kubelet does not show it
	if object != nil {
		spec = pod.ContainerNamed(object, c.Name)
	}
	if hook := handler.PreStop(spec); hook != nil && grace > 0 {
		target := handler.Target{ContainerID: c.ID, Container: spec, PodIP: object.Status.PodIP}
		r.Log.Info("run preStop hook", "container", c.Name, "id", pod.ShortID(c.ID))
		took, end := handler.RunPreStop(ctx, node.SyncRuntime{Client: r.Client}, target, hook, grace, func(_ handler.HookResult, err error) {
			if err != nil { // its output may hold secrets and is not shown
				r.Log.Warn("preStop hook failed", "container", c.Name, "err", err)
			}
		})
		defer end()
		grace -= took.Truncate(time.Second)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	grace = max(grace, podsync.MinGrace*time.Second)
	r.Log.Info("stop container", "container", c.Name, "id", pod.ShortID(c.ID), "grace", grace)
	return r.Client.StopContainer(ctx, c.ID, grace)
}

// grace returns the grace period of a container: of its pod's spec, else that with which it
// was created.
func (r *Restarter) grace(ctx context.Context, object *v1.Pod, c *pod.Container) time.Duration {
	if object != nil {
		return graceOf(object)
	}
	created, err := r.Client.ContainerProcess(ctx, c.ID)
	if created.PreStop {
		r.Log.Warn("its preStop hook is not run: the kubelet does not show it", "container", c.Name)
	}
	if err != nil || created.Grace == nil {
		return v1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return *created.Grace
}
