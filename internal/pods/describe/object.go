package describe

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pods/inventory"
)

// readObject reads the pod from the podctl process or the kubelet that manages it, else the
// spec that podctl left on the sandbox.
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
		return c.readKubeletObject()
	case c.pod.Runtime != nil && len(c.pod.Runtime.Sandboxes) > 0 && c.pod.Runtime.Sandboxes[0].HasManifest:
		return c.readManifest(ctx)
	}
	return nil
}

// readKubeletObject takes the object from the kubelet's answer.
func (c *collection) readKubeletObject() error {
	switch k := c.Kubelet; {
	case k == nil:
		return nil // it was not asked, because the runtime does not answer
	case k.FindErr != nil:
		return k.FindErr
	case k.Process == nil:
		return &kubelet.AbsentError{}
	case k.Err != nil:
		return k.Err
	}
	if c.pod.Object == nil {
		return errNotNamed
	}
	c.setObject(c.pod.Object, fromKubelet)
	return nil
}

// readManifest reads the spec that podctl left on the sandbox; it has no status.
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

// errNotNamed is the error for a pod that its kubelet does not name.
var errNotNamed = errors.New("the kubelet does not name the pod")

// The sources of an object.
const (
	fromPodctl  = "podctl"
	fromKubelet = "kubelet"
	fromSandbox = "sandbox"
)

func (c *collection) setObject(object *v1.Pod, from string) {
	c.locked(func() { c.object, c.from = object, from })
}
