package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podsync"
)

// handlerOf is the runtime handler of the pod's runtime class, "" for the
// default one: what the class is mapped to, or else its name. There are no
// RuntimeClass objects here (LookupRuntimeHandler in
// pkg/kubelet/runtimeclass/runtimeclass_manager.go).
func (n *Node) handlerOf(p *v1.Pod) string {
	class := p.Spec.RuntimeClassName
	if class == nil {
		return ""
	}
	if handler, mapped := n.opts.RuntimeClasses[*class]; mapped {
		return handler
	}
	return *class
}

// features asks the runtime what a handler can do. It is not remembered: a
// runtime that is restarted may have other handlers, and few pods ask.
func (n *Node) features(ctx context.Context, handler string) (podsync.Features, error) {
	status, err := n.rt.Status(ctx)
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

// CheckRuntimeClasses says which of the pods want a runtime handler that the
// runtime does not have. Where the runtime does not list its handlers, it will
// say so itself, when the pod's sandbox is made.
func (n *Node) CheckRuntimeClasses(ctx context.Context, pods []*v1.Pod) error {
	var errs []error
	for _, p := range pods {
		refused, err := n.refuseClass(ctx, p)
		if err != nil {
			return fmt.Errorf("check runtime classes: %w", err)
		}
		if refused != nil {
			errs = append(errs, fmt.Errorf("pod %q: %w", pod.DisplayName(p.Namespace, p.Name), refused))
		}
	}
	return errors.Join(errs...)
}

// refuseClass is why the pod's runtime class cannot be had, nil if it can.
func (n *Node) refuseClass(ctx context.Context, p *v1.Pod) (*AdmissionError, error) {
	handler := n.handlerOf(p)
	if handler == "" {
		return nil, nil
	}
	status, err := n.rt.Status(ctx)
	if err != nil || len(status.Handlers) == 0 {
		return nil, err
	}
	var names []string
	for _, h := range status.Handlers {
		if h.Name == handler {
			return nil, nil
		}
		if h.Name != "" {
			names = append(names, h.Name)
		}
	}
	class := *p.Spec.RuntimeClassName
	message := fmt.Sprintf("runtime class %q: the runtime has no handler of that name", class)
	if class != handler {
		message = fmt.Sprintf("runtime class %q: the runtime has no handler %q", class, handler)
	}
	return &AdmissionError{Reason: "RuntimeClassNotFound", Message: message,
		hint: fmt.Sprintf("it has %s; --runtime-class %s=HANDLER chooses one", strings.Join(names, ", "), class)}, nil
}

// refuseImageVolumes is why the pod's image volumes cannot be had, nil if
// they can or it has none.
func (n *Node) refuseImageVolumes(p *v1.Pod) *AdmissionError {
	if n.version.ImageVolumes() {
		return nil
	}
	for _, v := range p.Spec.Volumes {
		if v.Image != nil {
			return &AdmissionError{Reason: "ImageVolumeNotSupported",
				Message: fmt.Sprintf("volume %q is an image, which %s cannot mount", v.Name, n.version),
				hint:    "containerd can from 2.1 on, CRI-O from 1.31 on"}
		}
	}
	return nil
}
