package manifest

import (
	"strings"
)

// ServiceAccounts is what becomes of the tokens of service accounts, which projected
// volumes ask for and only an API server issues.
type ServiceAccounts uint8

const (
	// AccountsRefused: a volume with such a source is an error.
	AccountsRefused ServiceAccounts = iota
	// AccountsIgnored: the source is left out of its volume.
	AccountsIgnored
	// AccountsProvided: the token is given beside the manifests.
	AccountsProvided
)

// rootCA is the ConfigMap with the API server's certificates that each namespace of
// a cluster has (pkg/controller/certificates/rootcacertpublisher/publisher.go).
const rootCA = "kube-root-ca.crt"

// readFor is for what a pod was read: what decides beside the field table.
type readFor struct {
	accounts  ServiceAccounts
	noSELinux bool
}

func (o LoadOptions) readFor() readFor { return readFor{o.ServiceAccounts, o.NoSELinux} }

// judge corrects the uses of fields, where the table has the rule without
// --service-account and for a machine with SELinux.
func (r readFor) judge(uses []Use) []Use {
	for i, u := range uses {
		switch {
		case r.accounts == AccountsProvided && strings.HasSuffix(u.Field.Path, "."+tokenField):
			uses[i].Support = Honoured
		case r.noSELinux && strings.HasSuffix(u.Field.Path, "securityContext.seLinuxOptions"):
			uses[i].Support, uses[i].Field.Reason = Ignored, "SELinux is not enabled on this machine: nothing is confined by it"
		}
	}
	return uses
}

// withAccounts returns a document of a pod or workload as the loader's option has
// it: without the tokens if they are ignored, and with an optional ConfigMap
// kube-root-ca.crt beside each token, which the cluster has and the input rarely.
// It does not change its argument.
func (l *loader) withAccounts(b *builder, k *kind, doc map[string]any) map[string]any {
	if l.opts.ServiceAccounts == AccountsRefused || l.opts.ForCluster || k != podKind && k.read == nil {
		return doc
	}
	at := "spec"
	if k.read != nil {
		at = templatePath(k.name) + ".spec"
	}
	return withMapping(doc, strings.Split(at, "."), func(spec map[string]any) map[string]any {
		return l.accountVolumes(b, spec, parsePath(at))
	})
}

// withMapping returns a document with another mapping at a place, a copy as far as it
// differs.
func withMapping(doc map[string]any, at []string, change func(map[string]any) map[string]any) map[string]any {
	if len(at) == 0 {
		return change(doc)
	}
	inner, ok := doc[at[0]].(map[string]any)
	if !ok {
		return doc
	}
	doc = copyOf(doc)
	doc[at[0]] = withMapping(inner, at[1:], change)
	return doc
}

// accountVolumes returns a pod's spec with its volumes as withAccounts has them.
func (l *loader) accountVolumes(b *builder, spec map[string]any, of path) map[string]any {
	volumes, ok := spec["volumes"].([]any)
	if !ok {
		return spec
	}
	own := make([]any, len(volumes))
	for i, v := range volumes {
		if volume, ok := v.(map[string]any); ok {
			v = withMapping(volume, []string{"projected"}, func(projected map[string]any) map[string]any {
				return l.accountSources(b, projected, of.field("volumes").item(i).field("projected"))
			})
		}
		own[i] = v
	}
	spec = copyOf(spec)
	spec["volumes"] = own
	return spec
}

func (l *loader) accountSources(b *builder, projected map[string]any, of path) map[string]any {
	sources, _ := projected["sources"].([]any)
	first := -1
	own := make([]any, len(sources))
	for i, source := range sources {
		s, _ := source.(map[string]any)
		if s["serviceAccountToken"] != nil && first < 0 {
			first = i
		}
		own[i] = optionalRoot(source)
	}
	if first < 0 {
		return projected
	}
	projected = copyOf(projected)
	projected["sources"] = own
	if l.opts.ServiceAccounts == AccountsIgnored {
		l.ignoreToken(b, of.field("sources").item(first).field("serviceAccountToken").String())
		without(projected, "sources", of, b.positions, func(item any) bool {
			s, _ := item.(map[string]any)
			return s["serviceAccountToken"] != nil
		})
		if projected["sources"] == nil {
			projected["sources"] = []any{}
		}
	}
	return projected
}

// optionalRoot returns a source, which is optional if it is the ConfigMap
// kube-root-ca.crt and does not say whether it is.
func optionalRoot(source any) any {
	s, _ := source.(map[string]any)
	object, _ := s["configMap"].(map[string]any)
	if object["name"] != rootCA || object["optional"] != nil {
		return source
	}
	s, object = copyOf(s), copyOf(object)
	object["optional"] = true
	s["configMap"] = object
	return s
}

// ignoreToken warns once that a token is left out.
func (l *loader) ignoreToken(b *builder, field string) {
	if said := l.ignored[tokenField]; said != nil {
		said.more++
		return
	}
	l.ignored[tokenField] = &ignoredField{first: b.at(field, 0, "ignored: the volume has no token with --service-account=ignore", "")}
}
