package podsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// maxReserved is how many taken names one sync passes over before it gives up
// until the next.
const maxReserved = 8

// ensureSandbox creates the sandbox if the plan says so, and finds the pod's
// addresses. Either way it leaves the config that containers are created with.
func (r *run) ensureSandbox(ctx context.Context) error {
	if !r.plan.Starts() {
		return nil
	}
	if !r.plan.CreateSandbox {
		r.sandboxID = r.plan.SandboxID
		cfg, err := r.sandboxConfig(ctx, r.plan.Attempt)
		r.sandbox = cfg
		return err
	}
	r.acted, r.started = true, true
	node, err := r.node()
	if err != nil {
		return err
	}
	_, cut := render.PodDNS(r.p, node)
	for _, warning := range cut {
		r.warn(r.p, "", event.DNSConfigForming, "%s", warning)
	}
	err = r.runSandbox(ctx)
	r.m.sandboxFailure = event.At(event.LayerSandbox, err)
	if err != nil {
		r.failed(ctx, r.p, event.FailedCreatePodSandBox, opSync, event.LayerSandbox, err, "Failed to create pod sandbox: %s", cause(err))
		return r.m.sandboxFailure
	}
	if pod.IsHostNetwork(r.p) {
		r.sandboxReady(&pod.SandboxStatus{ID: r.sandboxID, Attempt: r.sandbox.Metadata.Attempt, State: pod.Running, HostNetwork: true, CreatedAt: r.opt.Now()})
		r.opt.Host.Event(r.p, event.Event{Reason: event.SandboxReady})
		return nil
	}
	st, err := r.opt.Runtime.PodStatus(ctx, &pod.Pod{
		UID: r.p.UID, Name: r.p.Name, Namespace: r.p.Namespace,
		Sandboxes: []*pod.Sandbox{{ID: r.sandboxID, Attempt: r.sandbox.Metadata.Attempt, State: pod.Running}},
	})
	if err != nil {
		r.failed(ctx, r.p, event.FailedPodSandBoxStatus, opSync, event.LayerStatus, err, "Unable to get pod sandbox status: %v", err)
		return event.At(event.LayerStatus, fmt.Errorf("read sandbox: %w", err))
	}
	r.ips = st.IPs
	for _, sandbox := range st.Sandboxes {
		r.sandboxReady(sandbox)
	}
	r.opt.Host.Event(r.p, event.Event{Reason: event.SandboxReady, Addresses: st.IPs})
	return nil
}

// sandboxReady shows the pod in its new sandbox before images are pulled, which
// may take long (OnPodSandboxReady in pkg/kubelet/kubelet.go, which sets the
// condition only).
func (r *run) sandboxReady(sandbox *pod.SandboxStatus) {
	st := *r.st
	st.IPs, st.Sandboxes = sandbox.IPs, []*pod.SandboxStatus{sandbox}
	r.publish(r.p, &st, false, nil)
}

// runSandbox creates the sandbox. A name that is taken belongs to a leftover
// of a crash; the next attempt has another.
func (r *run) runSandbox(ctx context.Context) error {
	handler := r.opt.Host.RuntimeHandler(r.p)
	attempt := max(r.plan.Attempt, r.m.sandboxAttempt)
	for try := 0; ; try++ {
		cfg, err := r.sandboxConfig(ctx, attempt)
		if err != nil {
			return err
		}
		leave := r.enter(pod.StepSandbox, "", "")
		id, err := r.opt.Runtime.RunPodSandbox(context.WithoutCancel(ctx), cfg, handler)
		leave()
		if err == nil {
			r.sandboxID, r.sandbox = id, cfg
			return nil
		}
		if driver, refused := cgroup.DriverOfRefusal(err.Error()); refused {
			return fmt.Errorf("the runtime uses the cgroup driver %s, and podctl another one: give --cgroup-driver %[1]s, or restart podctl if the runtime has changed: %w", driver, err)
		}
		if !errors.Is(err, fs.ErrExist) || try == maxReserved {
			return err
		}
		attempt++
		r.m.sandboxAttempt = attempt
		r.opt.Log.Info("sandbox name is taken, raising the attempt",
			"pod", pod.DisplayName(r.p.Namespace, r.p.Name), "uid", r.p.UID, "attempt", attempt)
	}
}

// node returns the node facts with the current resolv.conf.
func (r *run) node() (*render.Node, error) {
	dns, err := r.opt.Host.Resolver()
	if err != nil {
		return nil, err
	}
	node := *r.opt.Node
	node.DNS = dns
	return &node, nil
}

func (r *run) sandboxConfig(ctx context.Context, attempt uint32) (*runtimeapi.PodSandboxConfig, error) {
	node, err := r.node()
	if err != nil {
		return nil, err
	}
	in := render.SandboxInput{Node: node, Attempt: attempt, CgroupParent: r.opt.Cgroups.Parent(r.p)}
	if in.Annotations, err = r.opt.Host.Annotations(r.p); err != nil {
		return nil, err
	}
	users, err := r.userNamespace(ctx)
	if err != nil {
		return nil, err
	}
	in.UserNamespace = users
	return render.Sandbox(r.p, in)
}

// sandboxVerdict is whether the pod needs a new sandbox.
type sandboxVerdict struct {
	// newSandboxReason says why a new sandbox is needed, in the kubelet's words; "" if the
	// newest one is used.
	newSandboxReason string
	// attempt is that of the sandbox to use, or of the one to create.
	attempt uint32
	// id is the newest sandbox, "" if there is none (or if it is on the wrong
	// network, when the kubelet passes over it).
	id string
}

// judgeSandbox compares the pod's sandboxes with what the pod needs: exactly
// one ready sandbox, the newest, on the network the pod asks for, with an
// address unless it is the host's or the runtime does not report addresses
// (PodSandboxChanged in pkg/kubelet/kuberuntime/util/util.go).
func judgeSandbox(p *v1.Pod, st *pod.Status) sandboxVerdict {
	if len(st.Sandboxes) == 0 {
		return sandboxVerdict{newSandboxReason: "no pod sandbox exists"}
	}
	ready := 0
	for _, s := range st.Sandboxes {
		if s.State == pod.Running {
			ready++
		}
	}
	newest := st.Sandboxes[0]
	next := sandboxVerdict{attempt: newest.Attempt + 1, id: newest.ID}
	switch {
	case ready > 1:
		next.newSandboxReason = "multiple pod sandboxes are ready and need to be reconciled"
	case newest.State != pod.Running:
		next.newSandboxReason = "pod sandbox is not ready"
	case newest.HostNetwork != pod.IsHostNetwork(p):
		next.newSandboxReason, next.id = "network namespace mode changed and sandbox needs to be recreated", ""
	case !newest.HostNetwork && len(newest.IPs) == 0 && !newest.NetworkUnknown:
		next.newSandboxReason = "pod sandbox has no IP address"
	default:
		next.attempt = newest.Attempt
	}
	return next
}
