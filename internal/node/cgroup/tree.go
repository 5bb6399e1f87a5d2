package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Mounts is where the kernel's cgroup hierarchies are mounted.
const Mounts = "/sys/fs/cgroup"

const (
	// maxGroups bounds the cgroups that Scan looks at.
	maxGroups = 100_000
	// idLength is the length of the ids of containers and sandboxes, which the
	// runtimes make of 32 random bytes.
	idLength = 64
	// uidLength is the least length of the UID of a pod that is not known, a UUID or a
	// digest: other names begin with "pod", too.
	uidLength = 32
)

// Tree is the cgroups of containers and pods at one moment, whichever program
// created them. The zero value has none.
type Tree struct {
	root       string
	unified    bool
	containers map[string]string // path by id of the container or sandbox
	// pods are the paths by UID of the pod: of one, or of a pod of each runtime that has one
	// with this UID.
	pods map[types.UID][]string
	// holding are the paths of pods with a container.
	holding map[string]bool
}

// Scan finds the cgroups of containers by their ids, and those of pods by their
// UIDs, in the hierarchies below root. They lie in one path of each hierarchy of
// v1; the one of memory is searched.
func Scan(root string) (*Tree, error) {
	return scan(root, func(types.UID) bool { return true })
}

// ScanPod is Scan for one pod: what is below the cgroups of other pods is left out.
func ScanPod(root string, uid types.UID) (*Tree, error) {
	return scan(root, func(found types.UID) bool { return found == uid })
}

func scan(root string, wanted func(types.UID) bool) (*Tree, error) {
	t := &Tree{root: root, containers: map[string]string{}, pods: map[types.UID][]string{}, holding: map[string]bool{}}
	top := filepath.Join(root, "memory")
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		t.unified, top = true, root
	}
	seen := 0
	err := filepath.WalkDir(top, func(dir string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && dir == top:
			return err
		case err != nil: // removed since its parent was read
			return fs.SkipDir
		case !e.IsDir():
			return nil
		}
		if seen++; seen > maxGroups {
			return fs.SkipAll
		}
		name, _ := filepath.Rel(top, dir)
		group := path.Join("/", name)
		// What is below is the container's own, whatever its name is.
		if id, ok := containerID(e.Name()); ok {
			t.containers[id] = group
			t.holding[path.Dir(group)] = true
			return fs.SkipDir
		}
		switch uid, ok := uidOf(group); {
		case !ok:
		case len(uid) >= uidLength && !wanted(uid):
			return fs.SkipDir
		default:
			t.pods[uid] = append(t.pods[uid], group)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	return t, nil
}

// containerID returns the id in the name of a directory: ID, cri-containerd-ID.scope,
// crio-ID. That of CRI-O's monitor is not a container's.
func containerID(dir string) (string, bool) {
	name := strings.TrimSuffix(dir, ".scope")
	at := strings.LastIndexAny(name, "-:") + 1
	id := name[at:]
	if len(id) != idLength || strings.Trim(id, "0123456789abcdef") != "" || strings.HasSuffix(name[:at], "conmon-") {
		return "", false
	}
	return id, true
}

// IsContainer reports whether the name of a directory has the id of a container or sandbox.
func IsContainer(dir string) bool {
	_, ok := containerID(dir)
	return ok
}

// Container returns the path of the cgroup of a container or sandbox, "" if there
// is none: it does not run, or it runs out of sight.
func (t *Tree) Container(id string) string { return t.containers[id] }

// Containers returns the paths of the cgroups of all containers and sandboxes by their ids.
func (t *Tree) Containers() map[string]string { return t.containers }

// Pods returns the paths of the cgroups of all pods, sorted. Several may have one UID: two runtimes
// may have a pod of the same manifest.
func (t *Tree) Pods() []string {
	all := slices.Concat(slices.Collect(maps.Values(t.pods))...)
	slices.Sort(all)
	return all
}

// IsPod reports whether a path is that of the cgroup of a pod with this UID.
func (t *Tree) IsPod(group string, uid types.UID) bool { return slices.Contains(t.pods[uid], group) }

// PodUID returns the UID in the path of a pod's cgroup, false if it is not one.
func PodUID(group string) (uid types.UID, ok bool) {
	uid, ok = uidOf(group)
	return uid, ok && len(uid) >= uidLength
}

// Processes returns the PIDs in a cgroup and in those below it, in ascending order; it is an
// error if there are more than limit, or if they cannot be read. One of another pid
// namespace is 0.
func (t *Tree) Processes(group string, limit int) (pids []int, err error) {
	err = filepath.WalkDir(t.File(group, "memory", ""), func(path string, e fs.DirEntry, err error) error {
		switch {
		case vanished(err):
			return fs.SkipDir // removed since its parent was read
		case err != nil:
			return err
		case !e.IsDir():
			return nil
		}
		procs, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil && !vanished(err) {
			return err
		}
		for line := range strings.Lines(string(procs)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				pids = append(pids, pid)
			}
		}
		if len(pids) > limit {
			return fmt.Errorf("cgroup %s has more than %d processes", group, limit)
		}
		return nil
	})
	slices.Sort(pids)
	return pids, err
}

// Pod returns the path of the cgroup of a pod, "" if it has none of its own: the one that
// has a container of it. If none has, it is the only one with its UID and without the
// containers of another pod; whose they are is not known if the pod has no ids.
func (t *Tree) Pod(p *pod.Pod) string {
	groups, ids := slices.Clone(t.pods[p.GivenUID()]), p.IDs()
	for id := range ids {
		if group := path.Dir(t.containers[id]); slices.Contains(groups, group) {
			return group
		}
	}
	if len(ids) > 0 {
		groups = slices.DeleteFunc(groups, func(group string) bool { return t.holding[group] })
	}
	if len(groups) != 1 {
		return ""
	}
	return groups[0]
}

// vanished reports whether a directory was removed before it was read, made or written to.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)
}

// File returns the path of a file of a cgroup. controller is the hierarchy of v1.
func (t *Tree) File(group, controller, name string) string {
	if t.unified {
		controller = ""
	}
	return filepath.Join(t.root, controller, group, name)
}
