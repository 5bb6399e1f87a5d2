package manifest

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podctl/podctl/internal/pod"
)

// Document is a document of the input that is no pod: an object that pods
// refer to, or a workload whose template runs as pods.
type Document struct {
	Kind, Namespace, Name string
	// File and Line are where it begins.
	File string
	Line int
	// Pods are those that a workload became; nil for an object.
	Pods []*Pod
	// Schedule is that of a CronJob, whose pods come by it.
	Schedule string

	uses      []Use
	positions *positions
}

// FullName returns namespace/name, or the name of an object without a namespace.
func (d *Document) FullName() string {
	if d.Namespace == "" {
		return d.Name
	}
	return pod.DisplayName(d.Namespace, d.Name)
}

// Uses lists the fields that the document sets, by line, with what podctl
// does with each.
func (d *Document) Uses() []Use { return d.uses }

// where returns the document in a message about another one.
func (d *Document) where() string {
	return fmt.Sprintf("%s:%d", d.File, d.positions.find(parsePath("metadata.name")).line)
}

// object loads an object that is no pod and no workload. Its valid parts go into the Set as the
// API server would store them.
func (l *loader) object(b *builder, k *kind, doc map[string]any) {
	clean := b.check(doc, k.t)
	meta, errs, err := store(k, marshal(resolved(clean, k)), l.set.Objects)
	if err != nil {
		b.problem("", err.Error(), "")
		return
	}
	b.invalid(errs)
	l.checkObject(b, k, clean)
	l.named(b, l.useAll(b, k, doc, meta))
}

// checkObject reports what the API server's validation does not.
func (l *loader) checkObject(b *builder, k *kind, doc map[string]any) {
	if l.opts.ForCluster {
		return
	}
	switch k.name {
	case "PersistentVolume":
		spec, _ := doc["spec"].(map[string]any)
		for _, source := range []string{"hostPath", "local"} {
			of, _ := spec[source].(map[string]any)
			path, _ := of["path"].(string)
			checkHostPath("spec."+source+".path", path, b.problem)
		}
	case "Secret":
		l.checkToken(b, doc)
	case "Service":
		if spec, _ := doc["spec"].(map[string]any); spec["type"] == string(v1.ServiceTypeLoadBalancer) {
			b.warning("spec.type", "there is no load balancer on this machine: the Service is served as a NodePort", "write type: NodePort")
		}
	}
}

// checkToken reports a Secret that an API server would fill with the token of a service
// account.
func (l *loader) checkToken(b *builder, doc map[string]any) {
	data, _ := doc["data"].(map[string]any)
	text, _ := doc["stringData"].(map[string]any)
	if doc["type"] != string(v1.SecretTypeServiceAccountToken) || data[v1.ServiceAccountTokenKey] != nil || text[v1.ServiceAccountTokenKey] != nil {
		return
	}
	if l.opts.ServiceAccounts == AccountsRefused {
		b.problem("type", "a Secret of this type without a token: "+noTokenIssuer, "write the token as stringData.token; --service-account=ignore leaves the Secret without one")
		return
	}
	b.warning("type", "the Secret has no token: "+noTokenIssuer, "write the token as stringData.token")
}

// store decodes an object, and keeps it under its name.
func store(k *kind, data []byte, into *pod.Objects) (metav1.ObjectMeta, field.ErrorList, error) {
	switch k.name {
	case "ConfigMap":
		return keep(data, storedConfigMap, into.ConfigMaps)
	case "Secret":
		return keep(data, storedSecret, into.Secrets)
	case "PersistentVolumeClaim":
		return keep(data, storedClaim, into.Claims)
	case "PersistentVolume":
		return keep(data, storedVolume, into.Volumes)
	case "StorageClass":
		return keep(data, storedStorageClass, into.StorageClasses)
	case "PriorityClass":
		return keep(data, storedPriorityClass, into.PriorityClasses)
	case "RuntimeClass":
		return keep(data, storedRuntimeClass, into.RuntimeClasses)
	case "ServiceAccount":
		return keep(data, storedServiceAccount, into.ServiceAccounts)
	case "Service":
		return keep(data, storedService, into.Services)
	case "EndpointSlice":
		return keep(data, storedEndpointSlice, into.EndpointSlices)
	case "LimitRange": // nothing looks at it, or at a ResourceQuota
		return keep(data, storedLimitRange, map[types.NamespacedName]*v1.LimitRange{})
	default:
		return keep(data, storedResourceQuota, map[types.NamespacedName]*v1.ResourceQuota{})
	}
}

// keep decodes an object of one type, as stored returns it, and adds it to into. The
// first of two with the same name is kept; the second is reported elsewhere.
func keep[T any, P interface {
	*T
	metav1.ObjectMetaAccessor
}](data []byte, stored func(P) (P, field.ErrorList, error), into map[types.NamespacedName]P,
) (metav1.ObjectMeta, field.ErrorList, error) {
	read := P(new(T))
	if err := json.Unmarshal(data, read); err != nil {
		return metav1.ObjectMeta{}, nil, err
	}
	forgetServerMeta(read.GetObjectMeta().(*metav1.ObjectMeta))
	o, errs, err := stored(read)
	if err != nil {
		return metav1.ObjectMeta{}, nil, err
	}
	meta := *o.GetObjectMeta().(*metav1.ObjectMeta)
	key := types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name}
	if _, taken := into[key]; !taken {
		into[key] = o
	}
	return meta, errs, nil
}

// useAll notes what a document sets, and lists the document.
func (l *loader) useAll(b *builder, k *kind, doc map[string]any, meta metav1.ObjectMeta) *Document {
	d := &Document{
		Kind: k.name, Namespace: meta.Namespace, Name: meta.Name, File: b.file, Line: b.positions.root.Line,
		uses: l.opts.readFor().judge(usesOf(doc, k.tree(), b.positions)), positions: b.positions,
	}
	said := map[string]bool{}
	for _, problem := range b.problems {
		said[problem.Field] = true
	}
	spec, _ := doc["spec"].(map[string]any)
	strategy, _ := spec["strategy"].(map[string]any)
	recreate := strategy["type"] == "Recreate"
	var vain []Use
	for i, u := range d.uses {
		switch {
		case recreate && u.Field.Path == "spec.strategy": // which is what happens
			d.uses[i].Support = Honoured
		case u.Support == Ignored && u.Field.Reason == noControllers:
			vain = append(vain, u)
		case u.Support != Refused || !said[u.Path]:
			l.reportUse(b, u)
		}
	}
	b.warnNoEffect(vain)
	l.set.Documents = append(l.set.Documents, d)
	return d
}

// named reports a document that has the kind and name of an earlier one, and
// reports whether it is the first.
func (l *loader) named(b *builder, d *Document) bool {
	if d.Name == "" {
		return true // a problem already
	}
	key := d.Kind + " " + d.Namespace + "/" + d.Name
	first := l.documents[key]
	if first == nil {
		l.documents[key] = d
		return true
	}
	advice := "give one of them another name or namespace"
	if d.Namespace == "" {
		advice = "give one of them another name"
	}
	b.problem("metadata.name", fmt.Sprintf("%s is also the %s at %s", d.FullName(), d.Kind, first.where()), advice)
	return false
}

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
