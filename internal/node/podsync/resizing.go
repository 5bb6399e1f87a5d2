package podsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
)

// resize applies the plan's resources to the pod's cgroup and its running containers,
// memory first. An increase is applied to the pod before its containers, a decrease to
// the containers first. The first failure ends it; the next sync continues
// (doPodResizeAction in pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func (r *run) resize(ctx context.Context) error {
	if !r.plan.resizes() {
		return nil
	}
	r.acted = true
	err := r.tryResize(ctx)
	if err == nil {
		r.m.actuatedPod, r.m.resources = podAmounts(r.p), pod.Resources(r.p)
		return nil
	}
	if ctx.Err() == nil {
		r.resizeFailed(r.p, err)
	}
	return fmt.Errorf("resize pod: %w", err)
}

func (r *run) tryResize(ctx context.Context) error {
	have, err := r.opt.Cgroups.Enforced(r.p)
	if err != nil {
		return err
	}
	want := r.opt.Cgroups.Wanted(r.p)
	if want.Memory == 0 {
		want.Memory = have.Memory // the removal of a limit is not supported
	}
	if want.CPUQuota == 0 {
		want.CPUQuota = have.CPUQuota
	}
	if err := r.checkMemory(ctx, have, want); err != nil {
		return err
	}
	z := &resizing{run: r, enforced: have, given: map[string]*pod.Amounts{}}
	if len(r.plan.Memory) > 0 || r.plan.ResizePod {
		memory := step{stricter(have.Memory, want.Memory), pod.CgroupAmounts{Memory: want.Memory}}
		if err := z.around(ctx, []step{memory}, func() error { return z.containers(ctx, r.plan.Memory, v1.ResourceMemory) }); err != nil {
			return err
		}
	}
	if len(r.plan.CPU) > 0 || r.plan.ResizePod {
		limit := step{stricter(have.CPUQuota, want.CPUQuota), pod.CgroupAmounts{CPUQuota: want.CPUQuota}}
		request := step{cmp.Compare(want.CPUShares, have.CPUShares), pod.CgroupAmounts{CPUShares: want.CPUShares}}
		if err := z.around(ctx, []step{limit, request}, func() error { return z.containers(ctx, r.plan.CPU, v1.ResourceCPU) }); err != nil {
			return err
		}
	}
	return nil
}

// resizing is one resize in progress.
type resizing struct {
	*run
	enforced pod.CgroupAmounts
	// given is what containers have by now.
	given map[string]*pod.Amounts
}

// step is one amount of the pod's cgroup to write, which is more (1) or less (-1)
// than before, or the same (0).
type step struct {
	direction int
	amounts   pod.CgroupAmounts
}

// around writes what grows, then does the containers', then writes what shrinks:
// requests shrink before limits.
func (z *resizing) around(ctx context.Context, steps []step, containers func() error) error {
	for _, s := range steps {
		if s.direction > 0 {
			if err := z.setPod(ctx, s.amounts); err != nil {
				return err
			}
		}
	}
	if err := containers(); err != nil {
		return err
	}
	for i := range steps {
		if s := steps[len(steps)-1-i]; s.direction < 0 {
			if err := z.setPod(ctx, s.amounts); err != nil {
				return err
			}
		}
	}
	return nil
}

// setPod tells the runtime, which may refuse, and writes the cgroup.
func (z *resizing) setPod(ctx context.Context, a pod.CgroupAmounts) error {
	next := mergeAmounts(z.enforced, a)
	if err := z.notify(ctx, next); err != nil {
		return err
	}
	if err := z.opt.Cgroups.Resize(context.WithoutCancel(ctx), z.p, a); err != nil {
		return errors.Join(err, z.notify(ctx, z.enforced))
	}
	z.enforced = next
	return nil
}

func (z *resizing) notify(ctx context.Context, a pod.CgroupAmounts) error {
	return z.opt.Runtime.UpdatePodSandboxResources(ctx, z.plan.SandboxID, render.OverheadResources(z.p, z.opt.Node), &runtimeapi.LinuxContainerResources{
		CpuShares: a.CPUShares, CpuQuota: a.CPUQuota, CpuPeriod: pod.CPUPeriod, MemoryLimitInBytes: a.Memory,
	})
}

// containers gives containers their memory or CPU time, with what they have of the
// other.
func (z *resizing) containers(ctx context.Context, list []Resize, name v1.ResourceName) error {
	for _, one := range list {
		given := z.given[one.Container.Name]
		if given == nil {
			have := one.Have
			given = &have
			z.given[one.Container.Name] = given
		}
		next := *given
		if name == v1.ResourceMemory {
			next.MemoryLimit, next.MemoryRequest = one.Want.MemoryLimit, one.Want.MemoryRequest
		} else {
			next.CPULimit, next.CPURequest = one.Want.CPULimit, one.Want.CPURequest
		}
		c := one.Container.DeepCopy()
		c.Resources.Limits, c.Resources.Requests = lists(next)
		resources, err := render.ContainerResources(z.p, c, z.opt.Node)
		if err != nil {
			return err
		}
		if err := z.opt.Runtime.UpdateContainerResources(context.WithoutCancel(ctx), one.ID, resources); err != nil {
			return err
		}
		*given = next
		z.m.actuated[c.Name] = actuated{one.ID, next}
	}
	return nil
}

func lists(a pod.Amounts) (limits, requests v1.ResourceList) {
	return v1.ResourceList{
			v1.ResourceCPU: *resource.NewMilliQuantity(a.CPULimit, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(a.MemoryLimit, resource.BinarySI),
		}, v1.ResourceList{
			v1.ResourceCPU: *resource.NewMilliQuantity(a.CPURequest, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(a.MemoryRequest, resource.BinarySI),
		}
}

// checkMemory refuses a memory limit below what is used: the kernel would kill for
// it (validateMemoryResizeAction).
func (r *run) checkMemory(ctx context.Context, have, want pod.CgroupAmounts) error {
	var shrinking []Resize
	for _, one := range r.plan.Memory {
		if limit := one.Want.MemoryLimit; limit != 0 && (one.Have.MemoryLimit == 0 || limit < one.Have.MemoryLimit) {
			shrinking = append(shrinking, one)
		}
	}
	ofPod := stricter(have.Memory, want.Memory) < 0
	if !ofPod && len(shrinking) == 0 {
		return nil
	}
	var errs []error
	if ofPod {
		used, err := r.opt.Cgroups.MemoryUsed(r.p)
		switch {
		case err != nil:
			errs = append(errs, err)
		case used >= want.Memory:
			errs = append(errs, fmt.Errorf("attempting to set pod memory limit (%d) below current usage (%d)", want.Memory, used))
		}
	}
	if len(shrinking) > 0 {
		used, err := r.opt.Runtime.MemoryUsed(ctx)
		if err != nil {
			errs = append(errs, err)
		}
		for _, one := range shrinking {
			if n, known := used[one.ID]; known && n >= one.Want.MemoryLimit {
				errs = append(errs, fmt.Errorf("attempting to set container %q memory limit (%d) below current usage (%d)", one.Container.Name, one.Want.MemoryLimit, n))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot decrease memory limits: %w", err)
	}
	return nil
}

// stricter compares two limits, where 0 means no limit. It returns -1 if the second is
// stricter.
func stricter(have, want int64) int {
	switch {
	case have == want:
		return 0
	case have == 0:
		return -1
	case want == 0:
		return 1
	}
	return cmp.Compare(want, have)
}

// mergeAmounts returns a with those amounts of b that are not 0.
func mergeAmounts(a, b pod.CgroupAmounts) pod.CgroupAmounts {
	if b.CPUShares != 0 {
		a.CPUShares = b.CPUShares
	}
	if b.CPUQuota != 0 {
		a.CPUQuota = b.CPUQuota
	}
	if b.Memory != 0 {
		a.Memory = b.Memory
	}
	return a
}
