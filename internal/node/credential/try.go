package credential

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Auth is a credential as the CRI takes it.
type Auth = runtimeapi.AuthConfig

// Try calls pull with each credential until one succeeds, and once without any if there
// are none (PullImage in pkg/kubelet/kuberuntime/kuberuntime_image.go). failed are the
// errors of all attempts, nil if one succeeded.
func Try(ctx context.Context, auths []*Auth, pull func(context.Context, *Auth) (string, error)) (ref string, failed []error) {
	if len(auths) == 0 {
		auths = []*Auth{nil}
	}
	for _, auth := range auths {
		ref, err := pull(ctx, auth)
		if err == nil {
			return ref, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return "", failed
}
