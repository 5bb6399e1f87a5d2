package pod

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Labels and annotations that the kubelet puts on what it creates; podctl
// writes and reads the same ones, so that node tools show its pods alike
// (k8s.io/kubelet/pkg/types/labels.go, pkg/kubelet/kuberuntime/labels.go).
const (
	NameLabel          = "io.kubernetes.pod.name"
	NamespaceLabel     = "io.kubernetes.pod.namespace"
	UIDLabel           = "io.kubernetes.pod.uid"
	ContainerNameLabel = "io.kubernetes.container.name"

	HashAnnotation                     = "io.kubernetes.container.hash"
	RestartCountAnnotation             = "io.kubernetes.container.restartCount"
	TerminationMessagePathAnnotation   = "io.kubernetes.container.terminationMessagePath"
	TerminationMessagePolicyAnnotation = "io.kubernetes.container.terminationMessagePolicy"
	PreStopAnnotation                  = "io.kubernetes.container.preStopHandler"
	PortsAnnotation                    = "io.kubernetes.container.ports"
	TerminationGraceAnnotation         = "io.kubernetes.pod.terminationGracePeriod"
	DeletionGraceAnnotation            = "io.kubernetes.pod.deletionGracePeriod"

	// ConfigSourceAnnotation and ConfigMirrorAnnotation mark static and
	// mirror pods (pkg/kubelet/types/pod_update.go).
	ConfigSourceAnnotation = "kubernetes.io/config.source"
	ConfigMirrorAnnotation = "kubernetes.io/config.mirror"

	// DefaultContainerAnnotation names the container that commands mean where none
	// is named (k8s.io/kubectl/pkg/cmd/util/podcmd/podcmd.go).
	DefaultContainerAnnotation = "kubectl.kubernetes.io/default-container"
)

// podctl's own annotations on a sandbox.
const (
	// OwnerAnnotation names the podctl instance that created the sandbox.
	OwnerAnnotation = "podctl.io/owner"
	// InstanceAnnotation is the unique id of that podctl process: see owner.Holder.
	InstanceAnnotation = "podctl.io/instance"
	// WorkloadAnnotation identifies the workload of which the pod is one, as
	// KIND/NAMESPACE/NAME.
	WorkloadAnnotation = "podctl.io/workload"
	// DevicesAnnotation is the devices that the containers of the pod have, see package
	// device.
	DevicesAnnotation = "podctl.io/devices"
	// ManifestAnnotation is the pod's document as it was read, before
	// defaulting: gzip, then base64.
	ManifestAnnotation = "podctl.io/manifest"
)

// DebugLabel marks a container that podctl debug runs in a pod that podctl does not
// manage.
const DebugLabel = "podctl.io/debug"

// FullName returns the name under which two pods exclude each other:
// name_namespace (pkg/kubelet/container/helpers.go).
func FullName(name, namespace string) string { return name + "_" + namespace }

// FullNameOf is FullName of a pod object.
func FullNameOf(p *v1.Pod) string { return FullName(p.Name, p.Namespace) }

// DisplayName returns how podctl prints a pod: namespace/name.
func DisplayName(namespace, name string) string { return namespace + "/" + name }

// IsShellSafe reports whether a shell and podctl read a name as one literal word: it is not a
// pattern, option, path or list of words. Names in Kubernetes are safe; the CRI allows any text.
func IsShellSafe(name string) bool {
	for i, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		case i > 0 && strings.ContainsRune("-._+", r):
		default:
			return false
		}
	}
	return name != ""
}

// IsPodKind reports whether a word is the kind of pods, as in kubectl: pod, pods or po.
func IsPodKind(word string) bool { return slices.Contains([]string{"pod", "pods", "po"}, word) }

// CLIName returns the name by which the command line selects a pod, NAMESPACE/NAME; ok is false if
// the command line would read it as something else.
func CLIName(namespace, name string) (cliName string, ok bool) {
	return DisplayName(namespace, name), IsShellSafe(namespace) && IsShellSafe(name) && !IsPodKind(namespace)
}

// ShortID returns an id of a container or sandbox, cut as crictl cuts it.
func ShortID(id string) string { return id[:min(len(id), 13)] }

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
