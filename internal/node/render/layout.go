package render

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The layout of a pod's directory, which is the kubelet's
// (pkg/kubelet/kubelet_getters.go):
//
//	<PodsDir>/<uid>/etc-hosts
//	               /containers/NAME/<id>             termination messages
//	               /volumes/kubernetes.io~KIND/VOL
//	               /volume-subpaths/VOL/NAME/N
//	<LogDir>/NAMESPACE_NAME_<uid>/NAME/ATTEMPT.log

// Dir returns the pod's own directory.
func (n *Node) Dir(uid types.UID) string { return filepath.Join(n.PodsDir, n.dirName(uid)) }

func (n *Node) dirName(uid types.UID) string {
	if n.DirName == nil {
		return string(uid)
	}
	return n.DirName(uid)
}

// HostsFile returns where the pod's /etc/hosts is written.
func (n *Node) HostsFile(uid types.UID) string { return filepath.Join(n.Dir(uid), "etc-hosts") }

// ContainerDir holds the termination messages of one container.
func (n *Node) ContainerDir(uid types.UID, container string) string {
	return filepath.Join(n.Dir(uid), "containers", container)
}

// SubPathDir returns where the subPath of the container's index-th volumeMount
// is mounted.
func (n *Node) SubPathDir(uid types.UID, volume, container string, index int) string {
	return filepath.Join(n.Dir(uid), "volume-subpaths", volume, container, strconv.Itoa(index))
}

// LogDirectory holds the logs of all the pod's containers
// (BuildPodLogsDirectory in pkg/kubelet/kuberuntime/helpers.go). It is a directory in
// LogDir whatever names a pod has that somebody else created.
func (n *Node) LogDirectory(p *v1.Pod) string {
	name, dir := p.Name, n.dirName(p.UID)
	if tooLong := len(p.Namespace) + len(name) + len(dir) + 2 - maxFileName; tooLong > 0 {
		name = name[:max(0, len(name)-tooLong)] // the UID tells pods apart
	}
	file := strings.ReplaceAll(strings.Join([]string{p.Namespace, name, dir}, "_"), "/", "%2F")
	if len(file) > maxFileName {
		sum := sha256.Sum256([]byte(file))
		hash := "-" + hex.EncodeToString(sum[:16])
		file = file[:maxFileName-len(hash)] + hash
	}
	return filepath.Join(n.LogDir, file)
}

// maxFileName is the longest name of a file, in bytes (NAME_MAX).
const maxFileName = 255

// LogPath returns a container's log file, relative to the pod's LogDirectory.
func LogPath(container string, attempt uint32) string {
	return filepath.Join(container, strconv.FormatUint(uint64(attempt), 10)+".log")
}
