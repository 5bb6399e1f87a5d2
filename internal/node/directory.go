package node

import (
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/sys/hint"
)

// recordFor returns the record of a pod that begins. A new pod whose directory is
// another runtime's gets one of its own. The error says why what is recorded may not
// be used for a pod that this runtime has: the directory is another runtime's, and a
// living process manages the pod there. If none does, the other runtime's id is
// another path to this one.
func (n *Node) recordFor(d Desired, adopt bool) (poddir.Record, error) {
	dir := n.opts.Facts.Dir(d.UID())
	rec := poddir.ReadRecord(dir)
	if !rec.IsElsewhere(n.locks.Runtime(), n.locks.Fingerprint()) {
		return rec, nil
	}
	if !adopt {
		n.opts.Dirs.Own(d.UID())
		return poddir.ReadRecord(n.opts.Facts.Dir(d.UID())), nil
	}
	if held, err := n.locks.IsHeldOn(rec.Runtime(), d.FullName()); err != nil || held {
		return rec, hint.Errorf("give this runtime directories of its own with --root and --log-dir, or remove the other pod",
			"the directory %s belongs to a pod on another runtime (podctl %s)", dir, rec.Owner)
	}
	return rec, nil
}
