package podsync

import (
	"context"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/pod/event"
)

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
