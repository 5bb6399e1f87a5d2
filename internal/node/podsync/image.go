package podsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// ensureImage pulls the container's image if its pull policy asks for it
// (EnsureImageExists in pkg/kubelet/images/image_manager.go).
func (r *run) ensureImage(ctx context.Context, c *v1.Container) (*pod.Image, *StartError) {
	fail := func(kind, reason, message string, err error) (*pod.Image, *StartError) {
		if ctx.Err() == nil {
			r.unstarted(r.p, event.Event{Container: c.Name, Reason: kind, Image: &event.Image{Name: c.Image}},
				event.ContainerWait{Reason: reason, Message: message}, "%s", message)
		}
		return nil, &StartError{Container: c.Name, Reason: reason, Message: message, err: err}
	}
	name, err := pod.WithTag(c.Image)
	if err != nil {
		return fail(event.InspectFailed, reasonInvalidImage, fmt.Sprintf("Failed to apply default image tag %q: %v", c.Image, err), err)
	}
	if c.ImagePullPolicy != v1.PullAlways {
		image, err := r.imageStatus(ctx, name)
		switch {
		case err != nil:
			return fail(event.InspectFailed, reasonImageInspect, fmt.Sprintf("Failed to inspect image %q: %s", name, message(err)), err)
		case image != nil:
			r.opt.Host.Event(r.p, event.Event{
				Container: c.Name, Reason: event.Pulled, Image: &event.Image{Name: c.Image, Present: true, Size: image.Size},
				Message: fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", c.Image),
			})
			return image, nil
		case c.ImagePullPolicy == v1.PullNever:
			return fail(event.ErrImageNeverPull, reasonErrNeverPull,
				fmt.Sprintf("Container image %q is not present with pull policy of Never", c.Image), nil)
		}
	}
	return r.pull(ctx, c, name)
}

// pull pulls the image, unless it failed lately.
func (r *run) pull(ctx context.Context, c *v1.Container, name string) (*pod.Image, *StartError) {
	if until, waiting := r.m.pull.Until(name, r.opt.Now()); waiting {
		text := fmt.Sprintf("Back-off pulling image %q", c.Image)
		message := text
		if last, ok := r.m.pullError[name]; ok {
			message += ": " + last
		}
		r.unstarted(r.p, event.Event{Container: c.Name, Reason: event.BackOff, Image: &event.Image{Name: c.Image}},
			event.ContainerWait{Reason: reasonImagePullBackOff, Message: message, RetryAt: until}, "%s", text)
		return nil, &StartError{Container: c.Name, Reason: reasonImagePullBackOff, Message: message, BackOff: BackOff{RetryAt: until}}
	}
	delete(r.m.pullError, name)
	r.opt.Host.Event(r.p, event.Event{
		Container: c.Name, Reason: event.Pulling, Image: &event.Image{Name: c.Image}, Message: fmt.Sprintf("Pulling image %q", c.Image),
	})
	r.acted = true
	r.endTurn()
	start := r.opt.Now()
	leave := r.enter(pod.StepPull, c.Name, c.Image)
	ref, err := r.pullImage(ctx, name)
	leave()
	if err != nil {
		reason, text := pullFailure(c.Image, message(err))
		if present, _ := r.imageStatus(ctx, name); present != nil {
			text += ": " + pod.ImagePresent
		}
		if ctx.Err() == nil {
			r.unstarted(r.p, event.Event{Container: c.Name, Reason: event.Failed, Image: &event.Image{Name: c.Image}},
				event.ContainerWait{Reason: reason, Message: text}, "Failed to pull image %q: %s", c.Image, message(err))
			r.m.pull.Next(name, r.opt.Now(), r.opt.Now())
			r.m.pullError[name] = reason + ": " + text
			r.pullFailed = r.pullFailed || reason == reasonErrImagePull
		}
		return nil, &StartError{Container: c.Name, Reason: reason, Message: text, err: err}
	}
	took := r.opt.Now().Sub(start).Truncate(time.Millisecond)
	image, err := r.imageStatus(ctx, name)
	if err != nil {
		return nil, &StartError{Container: c.Name, Reason: reasonImageInspect, Message: message(err), err: err}
	}
	if image == nil {
		image = &pod.Image{}
	}
	pulled := *image
	pulled.ID = ref
	r.opt.Host.Event(r.p, event.Event{
		Container: c.Name, Reason: event.Pulled, Image: &event.Image{Name: c.Image, Seconds: took.Seconds(), Size: image.Size},
		Message: fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %d bytes.", c.Image, took, took, image.Size),
	})
	return &pulled, nil
}

// pullFailure returns the reason and words for what a runtime says of a pull that
// failed; two reasons some runtimes know by themselves (evalCRIPullErr).
func pullFailure(image, text string) (reason, message string) {
	for reason, what := range map[string]string{
		reasonRegistryUnavailable: "registry is unavailable",
		reasonSignatureInvalid:    "signature validation failed",
	} {
		if rest, ok := strings.CutPrefix(text, reason); ok {
			return reason, fmt.Sprintf("image pull failed for %s because the %s%s", image, what, rest)
		}
	}
	return reasonErrImagePull, text
}

// imageStatus returns the status of an image. An image that exists is looked up once
// per sync.
func (r *run) imageStatus(ctx context.Context, name string) (*pod.Image, error) {
	if image, ok := r.images[name]; ok {
		return image, nil
	}
	image, err := r.opt.Runtime.ImageStatus(ctx, name)
	if err != nil || image == nil {
		return nil, err
	}
	r.images[name] = image
	return image, nil
}

// message returns the runtime's own text of an error, if it has one.
func message(err error) string {
	var m interface{ RuntimeMessage() string }
	if errors.As(err, &m) {
		return m.RuntimeMessage()
	}
	return err.Error()
}

// credentials returns what an image may be pulled with: from the pod's imagePullSecrets
// (getPullSecretsForPod in pkg/kubelet/kubelet_pods.go), then those of the node. The
// pull goes ahead without Secrets that are missing.
func (r *run) credentials(ctx context.Context, image string) ([]*runtimeapi.AuthConfig, error) {
	keys := credential.Keyring{}
	r.missingSecrets = nil
	for _, ref := range r.p.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue
		}
		s := r.objects.Secret(r.p.Namespace, ref.Name)
		if s == nil {
			r.missingSecrets = append(r.missingSecrets, ref.Name)
			continue
		}
		if err := keys.AddSecret(s); err != nil {
			return nil, err
		}
	}
	found := keys.Lookup(image)
	if r.opt.NodeCredentials != nil {
		found = append(slices.Clip(found), r.opt.NodeCredentials(ctx, image)...)
	}
	return found, nil
}

// reportMissingSecrets names in an event the Secrets that an image may have lacked which
// could not be pulled (SyncPod in pkg/kubelet/kubelet.go).
func (r *run) reportMissingSecrets() {
	if r.pullFailed && len(r.missingSecrets) > 0 {
		r.warn(r.p, "", event.FailedToRetrieveImagePullSecret, "Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(r.missingSecrets, ", "))
	}
}

// pullImage pulls with the credentials of the image.
func (r *run) pullImage(ctx context.Context, image string) (ref string, err error) {
	credentials, err := r.credentials(ctx, image)
	if err != nil {
		return "", err
	}
	ref, failed := credential.Try(ctx, credentials, func(ctx context.Context, auth *runtimeapi.AuthConfig) (string, error) {
		return r.opt.Runtime.PullImage(ctx, image, r.sandbox, auth)
	})
	if failed != nil {
		return "", pullErrors(failed)
	}
	return ref, nil
}

// pullErrors is one error for each credential that was tried.
type pullErrors []error

func (p pullErrors) Error() string { return p.RuntimeMessage() }

func (p pullErrors) Unwrap() []error { return p }

// RuntimeMessage returns what the runtime said, each thing once.
func (p pullErrors) RuntimeMessage() string {
	var said []string
	for _, err := range p {
		if text := message(err); len(said) == 0 || said[len(said)-1] != text {
			said = append(said, text)
		}
	}
	if len(said) == 1 {
		return said[0]
	}
	return "[" + strings.Join(said, ", ") + "]"
}
