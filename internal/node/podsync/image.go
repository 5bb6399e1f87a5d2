package podsync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

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
