package pod

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"
)

// Identity is what names a pod. Each field is "" if it is not known.
type Identity struct {
	Namespace, Name string
	UID             types.UID
}

// OCIIdentity returns the pod that the annotations of a container's OCI configuration name:
// containerd's CRI writes them, and CRI-O.
func OCIIdentity(annotations map[string]string) Identity {
	return Identity{
		Namespace: cmp.Or(annotations["io.kubernetes.cri.sandbox-namespace"], annotations[NamespaceLabel]),
		Name:      cmp.Or(annotations["io.kubernetes.cri.sandbox-name"], annotations[NameLabel]),
		UID:       types.UID(cmp.Or(annotations["io.kubernetes.cri.sandbox-uid"], annotations[UIDLabel])),
	}
}

// CNIIdentity returns the pod that the CNI_ARGS of a plugin name.
func CNIIdentity(args map[string]string) Identity {
	return Identity{Namespace: args["K8S_POD_NAMESPACE"], Name: args["K8S_POD_NAME"], UID: types.UID(args["K8S_POD_UID"])}
}
