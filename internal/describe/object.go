package describe

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/diagnose"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/manifest"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/proc"
)

// readObject reads the pod as its owner shows it: the podctl process or the kubelet
// that manages it; else the spec that a podctl left on the sandbox.
func (c *collection) readObject(ctx context.Context) error {
	switch {
	case c.pod.Manager != nil:
		object, err := c.pod.Manager.Client(c.Dial).Pod(ctx, c.pod.UID)
		if err != nil {
			return err
		}
		c.setObject(object, fromPodctl)
		return nil
	case c.pod.Kind() == inventory.KindKubelet:
		return c.askKubelet(ctx)
	case c.pod.Runtime != nil && len(c.pod.Runtime.Sandboxes) > 0 && c.pod.Runtime.Sandboxes[0].HasManifest:
		return c.readManifest(ctx)
	}
	return nil
}

// askKubelet asks the kubelet for all that describe needs of it.
func (c *collection) askKubelet(ctx context.Context) error {
	ask := c.AskKubelet
	if ask == nil {
		ask = c.askKubeletOfEndpoint
	}
	k := ask(ctx)
	c.locked(func() { c.kubelet = k })
	switch {
	case k.FindErr != nil:
		return k.FindErr
	case k.Process == nil:
		return &kubelet.AbsentError{}
	case k.Err != nil:
		return k.Err
	}
	for _, p := range k.Pods {
		if p.UID == c.pod.UID {
			c.setObject(p, fromKubelet)
			return nil
		}
	}
	if k.Incomplete == nil {
		c.locked(func() { c.pod.Verdict = owners.Verdict{Relation: owners.Terminates, Kind: owners.ByKubelet} })
	}
	return errNotNamed
}

func (c *collection) askKubeletOfEndpoint(ctx context.Context) (a KubeletAnswer) {
	if a.Process, a.FindErr = kubelet.Find(ctx, c.Endpoint); a.Process != nil {
		a.Answer = a.Process.Ask(ctx, kubelet.Question{Limit: layerTimeout, CountUndesired: true})
	}
	return a
}

// KubeletAnswer is the kubelet that uses the runtime, and its answer.
type KubeletAnswer struct {
	// Process is nil if there is none, or if FindErr is set.
	Process *kubelet.Process
	FindErr error
	kubelet.Answer
}

// view is what the termination of a pod is judged by. A kubelet that is not there
// terminates nothing.
func (a KubeletAnswer) view() (diagnose.KubeletView, error) {
	if a.Process == nil {
		return diagnose.KubeletView{}, a.FindErr
	}
	return diagnose.ReadKubelet(a.Process, proc.Default, a.Answer)
}

// readManifest reads the spec from the sandbox, which has no status.
func (c *collection) readManifest(ctx context.Context) error {
	raw, _, err := c.Runtime.Manifest(ctx, c.pod.Sandbox())
	if err != nil {
		return err
	}
	p, _, err := manifest.Stored(raw)
	if err != nil {
		return err
	}
	c.setObject(p, fromSandbox)
	return nil
}

// errNotNamed: the kubelet does not know the pod.
var errNotNamed = errors.New("the kubelet does not name the pod")

// Where an object was read.
const (
	fromPodctl  = "podctl"
	fromKubelet = "kubelet"
	fromSandbox = "sandbox"
)

func (c *collection) setObject(object *v1.Pod, from string) {
	c.locked(func() { c.object, c.from = object, from })
}
