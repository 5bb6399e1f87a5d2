package render

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/podctl/podctl/internal/pod"
)

// imageUser returns the user of the image (getImageUser in
// pkg/kubelet/kuberuntime/helpers.go).
func imageUser(i pod.Image) (uid *int64, name string) {
	if i.UID == nil && i.Username == "" {
		return new(int64), ""
	}
	if i.UID != nil {
		return i.UID, ""
	}
	return nil, i.Username
}

// checkNonRoot refuses root where runAsNonRoot is set. A user that the image
// gives by name might be anyone, and is refused too
// (pkg/kubelet/kuberuntime/security_context_others.go).
func checkNonRoot(p *v1.Pod, c *v1.Container, sc v1.SecurityContext, image pod.Image) error {
	if !ptr.Deref(sc.RunAsNonRoot, false) {
		return nil
	}
	where := fmt.Sprintf("(pod: \"%s_%s(%s)\", container: %s)", p.Name, p.Namespace, p.UID, c.Name)
	if sc.RunAsUser != nil {
		if *sc.RunAsUser == 0 {
			return fmt.Errorf("container's runAsUser breaks non-root policy %s", where)
		}
		return nil
	}
	uid, name := imageUser(image)
	switch {
	case uid == nil:
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root %s", name, where)
	case *uid == 0:
		return fmt.Errorf("container has runAsNonRoot and image will run as root %s", where)
	case len(validation.IsValidUserID(*uid)) > 0:
		return fmt.Errorf("container has runAsNonRoot and image has an invalid user id (%d) %s", *uid, where)
	}
	return nil
}
