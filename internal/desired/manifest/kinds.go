package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// kind is a kind of document that podctl reads.
type kind struct {
	version, name string
	// clusterWide: its objects have no namespace.
	clusterWide bool
	// t is its type, fields its field table, and tree that table as a tree,
	// grown when it is asked for first: most commands read no manifest, and most
	// manifests are of one kind.
	t      reflect.Type
	fields fieldRows
	tree   func() *branch
	// load reads one document of it.
	load func(l *loader, b *builder, k *kind, doc map[string]any)
	// read is for workloads: what the API server makes of one. uid is its own.
	read func(data []byte, uid types.UID) (*workload, error)
}

var podKind = &kind{version: "v1", name: "Pod", t: reflect.TypeFor[v1.Pod](), fields: table, tree: grown(table)}

var kinds []*kind

// The kinds refer to what refers to them.
func init() {
	podKind.load = (*loader).pod
	kinds = []*kind{
		podKind,
		objectKind("v1", "ConfigMap", reflect.TypeFor[v1.ConfigMap](), configMapFields),
		objectKind("v1", "Secret", reflect.TypeFor[v1.Secret](), secretFields),
		objectKind("v1", "PersistentVolumeClaim", reflect.TypeFor[v1.PersistentVolumeClaim](), claimFields),
		clusterKind("v1", "PersistentVolume", reflect.TypeFor[v1.PersistentVolume](), volumeObjectFields),
		clusterKind("storage.k8s.io/v1", "StorageClass", reflect.TypeFor[storagev1.StorageClass](), storageClassFields),
		clusterKind("scheduling.k8s.io/v1", "PriorityClass", reflect.TypeFor[schedulingv1.PriorityClass](), priorityClassFields),
		clusterKind("node.k8s.io/v1", "RuntimeClass", reflect.TypeFor[nodev1.RuntimeClass](), runtimeClassFields),
		objectKind("v1", "ServiceAccount", reflect.TypeFor[v1.ServiceAccount](), serviceAccountFields),
		objectKind("v1", "Service", reflect.TypeFor[v1.Service](), serviceFields),
		objectKind("discovery.k8s.io/v1", "EndpointSlice", reflect.TypeFor[discoveryv1.EndpointSlice](), endpointSliceFields),
		objectKind("v1", "LimitRange", reflect.TypeFor[v1.LimitRange](), limitRangeFields),
		objectKind("v1", "ResourceQuota", reflect.TypeFor[v1.ResourceQuota](), resourceQuotaFields),
		workloadKind("apps/v1", "Deployment", deploymentFields, readDeployment),
		workloadKind("apps/v1", "ReplicaSet", replicaSetFields, readReplicaSet),
		workloadKind("v1", "ReplicationController", replicationControllerFields, readReplicationController),
		workloadKind("apps/v1", "StatefulSet", statefulSetFields, readStatefulSet),
		workloadKind("apps/v1", "DaemonSet", daemonSetFields, readDaemonSet),
		workloadKind("batch/v1", "Job", jobFields, readJob),
		workloadKind("batch/v1", cronJob, cronJobFields, readCronJob),
	}
}

func grown(fields fieldRows) func() *branch {
	return sync.OnceValue(func() *branch { return buildTree(fields()) })
}

func objectKind(version, name string, t reflect.Type, fields fieldRows) *kind {
	return &kind{version: version, name: name, t: t, fields: fields, tree: grown(fields), load: (*loader).object}
}

func clusterKind(version, name string, t reflect.Type, fields fieldRows) *kind {
	k := objectKind(version, name, t, fields)
	k.clusterWide = true
	return k
}

func workloadKind[T any](version, name string, fields fieldRows, read func(*T, types.UID) (*workload, error)) *kind {
	return &kind{
		version: version, name: name, t: reflect.TypeFor[T](), fields: fields,
		tree: sync.OnceValue(func() *branch { return buildTree(concat(fields, below(templatePath(name), templateFields))()) }),
		load: (*loader).workload,
		read: func(data []byte, uid types.UID) (*workload, error) {
			o := new(T)
			if err := json.Unmarshal(data, o); err != nil {
				return nil, err
			}
			return read(o, uid)
		},
	}
}

// kindOf returns the kind of that name, nil if podctl reads none.
func kindOf(name string) *kind {
	if i := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name }); i >= 0 {
		return kinds[i]
	}
	return nil
}

// runningKinds returns the names of the kinds that run.
func runningKinds() string {
	var names []string
	for _, k := range kinds {
		if k == podKind || k.read != nil {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, ", ")
}

// addFindings adds the problems and warnings of a builder.
func (l *loader) addFindings(b *builder) {
	for _, all := range [][]Problem{b.problems, b.warnings} {
		for i := range all {
			all[i].Field = b.positions.asWritten(all[i].Field)
		}
	}
	l.problems = append(l.problems, b.problems...)
	l.set.Warnings = append(l.set.Warnings, slices.DeleteFunc(b.warnings, func(w Problem) bool {
		return w.Message == notFilledIn && slices.ContainsFunc(b.problems, func(p Problem) bool { return p.Field == w.Field })
	})...)
}

// notFilledIn is the warning about a placeholder that the API server takes for a value.
const notFilledIn = "a placeholder that was not filled in: the value is used as it stands"

// listDocument is what List and PodList look like from outside.
type listDocument struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []json.RawMessage `json:"items"`
}

var listType = reflect.TypeFor[listDocument]()

// document takes one document: a pod, a list of documents, or a problem.
func (l *loader) document(file string, value any, at *positions) {
	fail := func(field, message, hint string) {
		l.problems = append(l.problems, Problem{File: file, Line: at.find(parsePath(field)).line, Field: field, Message: message, Hint: hint})
	}
	if l.full {
		return
	}
	switch l.taken++; {
	case l.taken > maxDocuments:
		l.full = true
		fail("", tooManyDocuments, "")
		return
	case len(l.problems) > maxProblems:
		l.full = true
		fail("", fmt.Sprintf("more than %d problems: no more is read", maxProblems), "")
		return
	}
	doc, ok := value.(map[string]any)
	if !ok {
		what := foreign{message: "a document must be a mapping, got " + describe(value)}
		if known := foreignValue(value); known != nil {
			what = *known
		}
		fail("", what.message, what.hint)
		return
	}
	if p := invisibleKey(doc, at); p != nil {
		p.File = file
		l.problems = append(l.problems, *p)
		return
	}
	version, _ := doc["apiVersion"].(string)
	kind, _ := doc["kind"].(string)
	if f := foreignObject(file, version, kind, doc); f != nil {
		fail("", f.message, f.hint)
		return
	}
	if version == "" || kind == "" {
		if version == "" {
			fail("apiVersion", "Required value", "write apiVersion: v1")
		}
		if kind == "" {
			fail("kind", "Required value", "write kind: Pod")
		}
		return
	}
	if of, isList := strings.CutSuffix(kind, "List"); isList && (of == "" && version == "v1" || kindOf(of) != nil && kindOf(of).version == version) {
		l.list(file, doc, at, kindOf(of))
		return
	}
	if countValues(doc, maxValues) > maxValues {
		fail("", fmt.Sprintf("more than %d values in an object", maxValues), "")
		return
	}
	k := kindOf(kind)
	if k != nil && isCustom(version) {
		k = nil // another kind of the same name
	}
	if l.objectsOnly && (k == nil || k == podKind || k.read != nil) {
		return
	}
	switch {
	case k != nil && k.version != version:
		fail("apiVersion", fmt.Sprintf("Invalid value: %q: a %s is of %s", version, kind, k.version), cmp.Or(templateHint(version), "write apiVersion: "+k.version))
	case k != nil:
		b := newBuilder(file, kind, at)
		doc = l.unexported(b, k, doc)
		doc = l.withAccounts(b, k, doc)
		k.load(l, b, k, doc)
		l.addFindings(b)
	case isPowerless(version, kind):
		l.warnNoEffect(file, kind, at)
	case kind == "PodList" || kind == "List":
		fail("apiVersion", fmt.Sprintf("Invalid value: %q: a %s is of v1", version, kind), "write apiVersion: v1")
	default:
		l.unknownKind(file, kind, version, at, fail)
	}
}

// isCustom reports whether an API version is of a group that is not Kubernetes' own.
func isCustom(version string) bool {
	group, _, grouped := strings.Cut(version, "/")
	return grouped && strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// unknownKind takes a document of a kind that podctl does not know.
func (l *loader) unknownKind(file, kind, version string, at *positions, fail func(field, message, hint string)) {
	near := ""
	for _, k := range kinds {
		if len(kind) > maxSuggestedName || isCustom(version) {
			break
		}
		if d := distance(kind, k.name); d > 0 && d <= 1+len(kind)/6 {
			near = k.name
		}
	}
	hint := "--skip-unknown-kinds passes such objects over; podctl runs " + runningKinds() + " and lists of them"
	switch {
	case templateHint(version+" "+kind) != "":
		hint = templateHint(version + " " + kind)
	case near != "":
		hint = "did you mean " + near + "?"
	case l.opts.SkipUnknownKinds:
		l.warnNoEffect(file, kind, at)
		return
	case isConfiguration(version):
		hint = "it configures a program, and is no object of a cluster; --skip-unknown-kinds passes it over"
	}
	fail("kind", fmt.Sprintf("%s (%s) is not a kind that podctl runs", kind, version), hint)
}

// list loads the items of a list; each item has its own positions. Items of a typed
// list (a PodList) need no kind; of is nil for a List.
func (l *loader) list(file string, doc map[string]any, at *positions, of *kind) {
	problem := func(p path, line int, message, hint string) {
		line = cmp.Or(line, at.find(p).line)
		l.problems = append(l.problems, Problem{File: file, Line: line, Field: p.String(), Message: message, Hint: hint})
	}
	if _, ok := newChecker(at, problem, problem).check(doc, listType, []level{{t: listType}}); !ok {
		return
	}
	items, _ := doc["items"].([]any)
	for i, item := range items {
		if item == nil {
			continue
		}
		inner := at.below(at.root)
		if here := at.find(path{}.field("items").item(i)); here.value != nil {
			inner.root = deref(here.value)
		}
		if m, ok := item.(map[string]any); ok && of != nil {
			if m["kind"] == nil {
				m["kind"] = of.name
			}
			if m["apiVersion"] == nil {
				m["apiVersion"] = of.version
			}
		}
		l.document(file, item, inner)
	}
}
