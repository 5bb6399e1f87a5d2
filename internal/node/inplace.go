package node

import (
	"bytes"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
)

// canUpdateInPlace reports whether an active pod can be updated to another version of its
// manifest: its worker still syncs it, or it has ended, and the API server would accept the
// change. A pod that podctl stop stopped begins again instead, unless nothing but the status
// is different. n.pods.mu is held.
func (n *Node) canUpdateInPlace(running lifecycle.Entry, version Desired) bool {
	stopping := n.workers.IsPodTerminationRequested(running.UID()) && !n.pods.get(running.UID()).record.Ended()
	if stopping {
		return poddir.Fingerprint(running.Document) == poddir.Fingerprint(version.Document)
	}
	return n.isInPlace(running.Pod, version.Pod)
}

// updateInPlace gives a pod's worker the new version of its manifest. That changes nothing
// of a pod that has ended.
func (n *Node) updateInPlace(uid types.UID) {
	n.background.Go(func() { n.records.updateManifest(uid) })
	if n.pods.record(uid).Ended() {
		n.watchers.notifyChanged()
		return
	}
	n.allocations.update(uid, false)
}

// isInPlace reports whether a manifest changes in place, and logs why the pod is replaced
// if not.
func (n *Node) isInPlace(running, version *v1.Pod) bool {
	err := manifest.InPlace(running, version)
	if err != nil {
		n.log.Info("replace pod", "pod", Desired{Pod: running}.FullName(), "uid", running.UID, "reason", err)
	}
	return err == nil
}

// canContinueAs reports whether a pod that the runtime holds, and that ran by an
// older document, continues as the desired one: by the same rule.
func (n *Node) canContinueAs(uid types.UID, held, want Desired) bool {
	if bytes.Equal(held.Document, want.Document) {
		return true
	}
	if rec := poddir.ReadRecord(n.opts.Facts.Dir(uid)); rec.Stopped() && !rec.Ended() {
		// It may have been updated in place before it was stopped.
		return rec.Manifest == poddir.Fingerprint(want.Document)
	}
	return n.isInPlace(held.Pod, want.Pod)
}

// RanManifest reports whether this document is the one by which the pod was last run on this
// runtime.
func (n *Node) RanManifest(uid types.UID, document []byte) bool {
	rec := poddir.ReadRecord(n.opts.Facts.Dir(uid))
	return rec.Manifest == poddir.Fingerprint(document) && !rec.IsElsewhere(n.locks.Runtime(), n.locks.Fingerprint())
}
