package volume

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	helper "k8s.io/component-helpers/storage/ephemeral"
)

// ephemeral is a claim of one pod, whose directory is in the pod's and is removed
// with it. In a cluster a controller makes the claim, which belongs to the pod
// (pkg/controller/volume/ephemeral/controller.go).
var ephemeral = kind{
	dir:   claimName,
	owns:  func(v *v1.Volume) bool { return v.Ephemeral != nil },
	setUp: setUpEphemeral,
}

// setUpEphemeral refuses a claim that has the name of the pod's own, as the kubelet
// does (VolumeIsForPod in k8s.io/component-helpers/storage/ephemeral).
func setUpEphemeral(ctx context.Context, r request) error {
	name := helper.VolumeClaimName(r.pod, r.volume)
	if r.in.Objects.Claim(r.pod.Namespace, name) != nil {
		return fmt.Errorf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", r.pod.Namespace, name, r.pod.Namespace, r.pod.Name)
	}
	return setUpDirectory(ctx, r)
}
