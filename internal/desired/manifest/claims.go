package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// reportUnboundClaims says which fields of claims choose nothing, because no volume is bound to
// the claim: podctl provisions a directory then.
func (l *loader) reportUnboundClaims() {
	for _, d := range l.set.Documents {
		prefix := map[string]string{refClaim: "spec.", "StatefulSet": "spec.volumeClaimTemplates[].spec."}[d.Kind]
		if prefix == "" || l.isBound(d) {
			continue
		}
		for i := range d.uses {
			u := &d.uses[i]
			field, of := strings.CutPrefix(u.Field.Path, prefix)
			if u.Support != Honoured || !of || !slices.Contains(strings.Fields(volumeSelectionFields), field) {
				continue
			}
			u.Support, u.Field.Support, u.Field.Reason = Ignored, Ignored, claimIsDirectory
			if field == "volumeName" {
				u.Field.Reason = "no PersistentVolume of the name is declared: the claim is a directory of podctl's own, which begins empty"
			}
			if l.opts.ForCluster {
				continue
			}
			if said := l.ignored[u.Field.Path]; said != nil {
				said.more++
				continue
			}
			l.ignored[u.Field.Path] = &ignoredField{first: Problem{
				File: d.File, Line: u.Line, Kind: d.Kind, Name: d.Name, Field: u.Path, Message: u.message(),
			}}
		}
	}
}

// isBound reports whether a claim, or any claim of a StatefulSet, is bound or would be.
func (l *loader) isBound(d *Document) bool {
	for key, b := range l.set.Objects.Bindings {
		own := key == types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
		if d.Kind == "StatefulSet" {
			own = key.Namespace == d.Namespace && strings.Contains(key.Name, "-"+d.Name+"-")
		}
		if own && (b.Volume != nil || b.Pending != "") {
			return true
		}
	}
	return false
}
