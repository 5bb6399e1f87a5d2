package poddir

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/moby/sys/mountinfo"
	"k8s.io/apimachinery/pkg/types"
)

// Dirs names the directories of the pods of one runtime. Make one with New.
type Dirs struct {
	pods, runtime string

	mu sync.Mutex
	// names are those that were asked for, so that a pod keeps its name also when its
	// directory is deleted.
	names map[types.UID]string
}

// New is about the directories in pods, for the runtime of that id.
func New(pods, runtime string) *Dirs {
	return &Dirs{pods: pods, runtime: runtime, names: map[types.UID]string{}}
}

// Name is the name of a pod's directory: the plain one, unless the pod has one with
// the runtime's id.
func (d *Dirs) Name(uid types.UID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name, ok := d.names[uid]; ok {
		return name
	}
	name := string(uid)
	if info, err := os.Lstat(filepath.Join(d.pods, d.own(uid))); err == nil && info.IsDir() {
		name = d.own(uid)
	}
	d.names[uid] = name
	return name
}

// Own gives a pod the name with the runtime's id, because the plain one is that of a
// pod on another runtime.
func (d *Dirs) Own(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[uid] = d.own(uid)
}

// Forget forgets the name of a pod whose directories were removed.
func (d *Dirs) Forget(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, uid)
}

// UID is the pod whose directory has the name; ok is false if it is that of a pod
// on another runtime.
func (d *Dirs) UID(name string) (uid types.UID, ok bool) {
	plain, runtime := split(name)
	return types.UID(plain), runtime == "" || runtime == d.runtime
}

// Has returns the pod that uses the directory of the name; ok is false if none of this
// runtime does.
func (d *Dirs) Has(name string) (uid types.UID, ok bool) {
	uid, ok = d.UID(name)
	return uid, ok && d.Name(uid) == name
}

func (d *Dirs) own(uid types.UID) string { return string(uid) + mark + d.runtime }

// mark stands before a runtime's id.
const mark = "@"

// split returns the UID and the runtime's id of a name, "" if it is a plain one.
func split(name string) (uid, runtime string) {
	i := strings.LastIndex(name, mark)
	if i < 0 {
		return name, ""
	}
	return name[:i], name[i+len(mark):]
}

// Mounts returns the mount points at and below each directory that has any, by one
// look at the mount table; none where that cannot be read.
func Mounts() map[string][]string {
	below := map[string][]string{}
	mounted, _ := mountinfo.GetMounts(nil)
	for _, m := range mounted {
		for dir := m.Mountpoint; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			below[dir] = append(below[dir], m.Mountpoint)
		}
	}
	return below
}
