package orphan

import (
	"path"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/pods/view"
)

// Class is the reason why a pod counts as orphaned.
type Class string

// An orphan has the first of these classes that applies.
const (
	// NameReserved: a desired pod with another UID has its full name.
	NameReserved Class = "name-reserved"
	// NoSandbox: containers whose sandbox is gone.
	NoSandbox Class = "no-sandbox"
	// NotReady: its sandboxes are not ready, and no container runs or may run.
	NotReady Class = "not-ready"
	// Abandoned: the podctl process that created it has exited.
	Abandoned Class = "abandoned"
	// RuntimeOnly: only the runtime knows it.
	RuntimeOnly Class = "runtime-only"
	// Directory: a pod directory whose pod does not exist.
	Directory Class = "directory"
	// Leaked: processes, mounts, namespaces, addresses or cgroups of a sandbox that
	// the runtime does not list.
	Leaked Class = "leaked"
)

// Classes returns every class, in the order in which they apply.
func Classes() []Class {
	return []Class{NameReserved, NoSandbox, NotReady, Abandoned, RuntimeOnly, Directory, Leaked}
}

// Orphan is a pod that no source desires, a pod's directory, or what a sandbox left.
type Orphan struct {
	// Pod is the pod; for a directory or a leak it holds what that says about it. The UID of
	// a leak of a pod that is not known is the leak's id.
	*view.Pod
	Class Class
	Why   string
	// OwnerExited is when its podctl process was killed, zero if that is not known.
	OwnerExited time.Time
	// Dir is the directory of the class Directory, else nil.
	Dir *Dir
	// Leak is what has leaked of the class Leaked, else nil.
	Leak *leak.Leak
}

// Dir is a directory below --root that is named for a pod.
type Dir struct {
	UID  types.UID
	Path string
	// Namespace and Name are the pod's, "" if not known.
	Namespace, Name string
	// Instance is the podctl instance that wrote its record, "" if none did.
	Instance string
	Changed  time.Time
	// Mounts are the mount points at or below it.
	Mounts []string
	// Keep is why it is in use although this runtime holds no pod of it, "" if it is
	// not.
	Keep string
}

// Title is NAMESPACE/NAME, or the UID for a directory whose pod is not known, or the id for such
// a leak: of the path of a namespace its name.
func (o Orphan) Title() string {
	if o.Name == "" {
		return path.Base(string(o.UID))
	}
	return o.DisplayName()
}

// CLIName returns the name by which the command line selects the orphan. It is an id for a leftover
// directory, and if a desired pod has the same name.
func (o Orphan) CLIName() string {
	if o.Dir != nil || o.Leak != nil || o.Class == NameReserved {
		return o.CLINameByID()
	}
	return o.Pod.CLIName()
}

// Running reports whether --kill has something to do without --rm.
func (o Orphan) Running() bool {
	return o.Leak != nil || o.Runtime != nil && o.Runtime.MayBeRunning()
}

// Created is when the first sandbox or container was created, or the directory
// was changed, or the oldest part of a leak was made; zero if that is not known.
func (o Orphan) Created() time.Time {
	if o.Leak != nil {
		return o.Leak.Since()
	}
	if o.Dir != nil {
		return o.Dir.Changed
	}
	created := o.Began()
	if created.IsZero() {
		for _, c := range o.Runtime.Containers {
			if created.IsZero() || c.CreatedAt.Before(created) {
				created = c.CreatedAt
			}
		}
	}
	return created
}
