package pod

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// BareUID returns UID_NAMESPACE_NAME, the UID of a bare pod: see Pod.SharedUID. The UID
// alone does not identify it: the files that crictl reads are copied, and their UIDs with
// them. All attempts of one pod have one.
func BareUID(uid types.UID, namespace, name string) types.UID {
	return uid + "_" + identifier(namespace, name)
}

// SeparateUID returns UID+NAMESPACE_NAME, the UID of a pod that has the UID of one that
// podctl created and is none of podctl's. Neither it nor a BareUID can be the UID of a
// pod of podctl's, which consists of letters, digits and hyphens.
func SeparateUID(uid types.UID, namespace, name string) types.UID {
	return uid + separator + identifier(namespace, name)
}

const separator = "+"

// CutSeparateUID returns the UID that the creator of a pod gave it, if the UID is a
// SeparateUID.
func CutSeparateUID(uid types.UID) (given types.UID, ok bool) {
	i := strings.LastIndex(string(uid), separator)
	if i < 0 {
		return "", false
	}
	return uid[:i], true
}

func identifier(namespace, name string) types.UID {
	return types.UID(escape.Replace(namespace) + "_" + escape.Replace(name))
}

// escape keeps two pods from one UID, and the separators of paths out of it.
var escape = strings.NewReplacer("%", "%25", "_", "%5F", "/", "%2F", separator, "%2B")

// GivenUID returns the UID that the pod's creator gave it.
func (p *Pod) GivenUID() types.UID {
	if p.SharedUID != "" {
		return p.SharedUID
	}
	return p.UID
}

// Separate returns the pod with its SeparateUID, or as it is if it has a UID that is
// no pod's of podctl already.
func (p *Pod) Separate() *Pod {
	if p.SharedUID != "" {
		return p
	}
	separate := *p
	separate.SharedUID, separate.UID = p.UID, SeparateUID(p.UID, p.Namespace, p.Name)
	return &separate
}

// DistinctUID returns the UID by which a client of the runtime finds this pod again and no
// other one, also if podctl creates one that has its UID meanwhile.
func (p *Pod) DistinctUID() types.UID {
	if p.IsForeign() {
		return p.Separate().UID
	}
	return p.UID
}

// IsForeign reports whether podctl did not create the pod's newest sandbox. Containers
// without a sandbox do not show what created them.
func (p *Pod) IsForeign() bool { return len(p.Sandboxes) > 0 && p.Sandboxes[0].Owner == "" }
