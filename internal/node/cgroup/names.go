package cgroup

import (
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Driver says who makes the directories: podctl itself, or systemd when asked.
type Driver string

// The drivers, as the CRI's RuntimeConfig and the kubelet's configuration
// name them.
const (
	Cgroupfs Driver = "cgroupfs"
	Systemd  Driver = "systemd"
)

// DefaultRoot is the kubelet's.
const DefaultRoot = "kubepods"

const (
	podPrefix   = "pod"
	sliceSuffix = ".slice"
)

// name is a cgroup independent of the driver: {"kubepods", "burstable", "podX"}.
type name []string

func (n name) child(element string) name { return append(slices.Clip(n), element) }

// path returns the name in the tree, in the driver's spelling. A slice's name
// holds those of its parents; dashes within an element become underscores
// (pkg/kubelet/cm/cgroup_manager_linux.go).
func (n name) path(d Driver) string {
	if d != Systemd {
		return "/" + path.Join(n...)
	}
	full, prefix := "/", ""
	for _, element := range n {
		prefix += strings.ReplaceAll(element, "-", "_")
		full = path.Join(full, prefix+sliceSuffix)
		prefix += "-"
	}
	return full
}

// group is a cgroup in the spelling of a driver.
type group struct {
	driver Driver
	name   name
}

func (g group) child(element string) group { return group{g.driver, g.name.child(element)} }

func (g group) path() string { return g.name.path(g.driver) }

// podUID returns the UID in a directory's name, false if it is not a pod's.
func podUID(dir string, d Driver) (types.UID, bool) {
	if d == Systemd {
		slice, ok := strings.CutSuffix(dir, sliceSuffix)
		if !ok {
			return "", false
		}
		last := slice[strings.LastIndexByte(slice, '-')+1:]
		dir = strings.ReplaceAll(last, "_", "-")
	}
	uid, ok := strings.CutPrefix(dir, podPrefix)
	return types.UID(uid), ok && uid != ""
}

// uidOf returns the UID in the path of a pod's cgroup, false if it is not a pod's. A name
// that ends in .slice has systemd's spelling only, which begins with the name of its parent.
// Directly below a slice that is not its parent lie units of systemd, and directly below the
// hierarchy's root lie the parents of pods: podctl's own begins with "pod", too.
func uidOf(group string) (uid types.UID, ok bool) {
	dir, parent := path.Base(group), path.Base(path.Dir(group))
	slice, inSlice := strings.CutSuffix(parent, sliceSuffix)
	if strings.HasSuffix(dir, sliceSuffix) {
		uid, ok = podUID(dir, Systemd)
		ok = ok && inSlice && dir == slice+"-"+podPrefix+strings.ReplaceAll(string(uid), "-", "_")+sliceSuffix
	} else {
		uid, ok = podUID(dir, Cgroupfs)
		ok = ok && !inSlice && parent != "/"
	}
	if !ok || checkElement("uid", string(uid)) != nil {
		return "", false
	}
	return uid, true
}

const (
	burstable  = "burstable"
	besteffort = "besteffort"
)

// parentOf returns the parent of the pod's cgroup.
func parentOf(root string, p *v1.Pod) name {
	switch pod.QOS(p) {
	case v1.PodQOSBestEffort:
		return name{root, besteffort}
	case v1.PodQOSBurstable:
		return name{root, burstable}
	default:
		return name{root}
	}
}

// Parent returns the pod's cgroup in the form of the sandbox config's cgroup_parent: an
// absolute path below the hierarchies' roots
// (pkg/kubelet/cm/pod_container_manager_linux.go).
func Parent(root string, d Driver, p *v1.Pod) string {
	return parentOf(root, p).child(podPrefix + string(p.UID)).path(d)
}

// DriverOfRefusal returns the driver that a runtime uses, by the words with which it refuses the
// spelling of the other one; ok is false for other words. containerd with Cgroupfs refuses none.
func DriverOfRefusal(text string) (d Driver, ok bool) {
	switch {
	case strings.Contains(text, `expected cgroupsPath to be of format "slice:prefix:name"`),
		strings.Contains(text, "configured with systemd cgroup manager, but did not receive slice as parent"):
		return Systemd, true
	case strings.Contains(text, "configured with cgroupfs cgroup manager, but received slice as parent"):
		return Cgroupfs, true
	}
	return "", false
}

// checkElement refuses what would leave the tree, or could not be read back
// from a slice's name.
func checkElement(what, s string) error {
	if s == "" {
		return fmt.Errorf("%s is empty", what)
	}
	if i := strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '.'
	}); i >= 0 {
		return fmt.Errorf("%s %q has the character %q, which is not allowed in the name of a cgroup", what, s, s[i])
	}
	if strings.Trim(s, ".") == "" || strings.HasSuffix(s, sliceSuffix) || strings.HasSuffix(s, ".scope") {
		return fmt.Errorf("%s %q is not a name of a cgroup", what, s)
	}
	return nil
}
