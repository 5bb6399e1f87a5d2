package volume

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

const secretName = "kubernetes.io~secret"

// secret has the data of a Secret as files, in memory
// (pkg/volume/secret/secret.go). Its values are in no error.
var secret = contentKind(secretName, true,
	func(v *v1.Volume) bool { return v.Secret != nil },
	func(r request) (files, error) {
		s := r.volume.Secret
		return secretFiles(r, s.SecretName, s.Items, s.DefaultMode, ptr.Deref(s.Optional, false))
	})

func secretFiles(r request, name string, items []v1.KeyToPath, mode *int32, optional bool) (files, error) {
	object := r.in.Objects.Secret(r.pod.Namespace, name)
	switch {
	case object == nil && !optional:
		return nil, fmt.Errorf("secret %q not found", name)
	case object == nil:
		object = &v1.Secret{}
	}
	return pick(object.Data, items, mode, func(key string) error {
		if optional {
			return nil
		}
		return fmt.Errorf("references non-existent secret key: %s", key)
	})
}
