package podsync

import (
	"context"
	"errors"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
)

// Features is what a runtime handler can do.
type Features struct {
	// RecursiveReadOnly: of a read-only mount, what is mounted below it too.
	RecursiveReadOnly bool
	// UserNamespaces: pods with hostUsers false.
	UserNamespaces bool
}

// features asks what the pod's runtime handler supports.
func (r *run) features(ctx context.Context) (Features, error) {
	return r.opt.Host.Features(ctx, r.opt.Host.RuntimeHandler(r.p))
}

// recursiveReadOnly reports whether the pod's runtime handler supports recursive
// read-only mounts; false if that is unknown. It is only called for containers that ask
// for one (runtimeClassSupportsRecursiveReadOnlyMounts in pkg/kubelet/kubelet_pods.go).
func (r *run) recursiveReadOnly(ctx context.Context) bool {
	f, err := r.features(ctx)
	if err != nil {
		r.opt.Log.Warn("recursive read-only mounts are taken to be unsupported", "uid", r.p.UID, "err", err)
	}
	return f.RecursiveReadOnly
}

// userNamespace returns the pod's range of ids, nil for a pod that shares those of
// the host. The range stays the pod's as long as the pod has its directory
// (GetOrCreateUserNamespaceMappings in pkg/kubelet/userns/userns_manager.go).
func (r *run) userNamespace(ctx context.Context) (*runtimeapi.UserNamespace, error) {
	if r.users != nil || !pod.HasUserNamespace(r.p) {
		return r.users, nil
	}
	f, err := r.features(ctx)
	if err != nil || !f.UserNamespaces {
		return nil, noUserNamespaces(r.opt.Host.RuntimeHandler(r.p), err)
	}
	first, length, err := r.opt.Host.UserIDs(ctx, r.p.UID)
	if err != nil {
		return nil, fmt.Errorf("create user namespace: %w", err)
	}
	r.users = render.UserNamespace(first, length)
	return r.users, nil
}

// noUserNamespaces returns the kubelet's error for a runtime handler without them.
func noUserNamespaces(handler string, cause error) error {
	text := "can't set `spec.hostUsers: false`, runtime does not support user namespaces"
	if handler != "" {
		text = fmt.Sprintf("can't set `spec.hostUsers: false`, RuntimeClass handler %q does not support user namespaces", handler)
	}
	if cause != nil {
		return fmt.Errorf("%s: %w", text, cause)
	}
	return errors.New(text)
}
