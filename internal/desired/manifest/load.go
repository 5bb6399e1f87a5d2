package manifest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/plural"
)

// LoadOptions are what Load reads besides files. The zero value reads files
// and URLs.
type LoadOptions struct {
	// Stdin is what "-" stands for; without it "-" is a problem.
	Stdin io.Reader
	// HTTP fetches URLs; http.DefaultClient if nil. A download may take
	// 30 s, and any source may have 10 MiB.
	HTTP *http.Client
	// Replicas is how many pods a Deployment, ReplicaSet or StatefulSet runs
	// as, whatever it asks for unless that is none; 0 is 1.
	Replicas int
	// ConfigFrom are files, directories and URLs of which only the
	// objects are read that are no pods and no workloads.
	ConfigFrom []string
	// ForCluster: a cluster runs the pods, so that fields which podctl refuses or ignores are
	// neither problems nor warnings.
	ForCluster bool
	// ServiceAccounts is what becomes of the tokens of service accounts.
	ServiceAccounts ServiceAccounts
	// Hostname is the node's, for the node affinity of volumes; "" if it is not known.
	Hostname string
	// NoSELinux: the machine that runs the pods has no SELinux, which labels nothing there.
	NoSELinux bool
	// AllFiles reads all files of a directory that do not begin with a dot, as the kubelet does.
	AllFiles bool
	// SkipUnknownKinds skips documents of kinds that podctl does not know, with a warning.
	SkipUnknownKinds bool
	// ObjectsComplete: no objects come later, so that a reference to an undeclared object is a
	// problem instead of a warning.
	ObjectsComplete bool
}

// Load reads pods from files, directories, URLs and standard input ("-"). All
// problems of all of them come back as one Problems; the Set is never nil.
func Load(ctx context.Context, paths []string, opts LoadOptions) (*Set, error) {
	l := newLoader(opts)
	read := map[string]bool{}
	for _, arg := range paths {
		sources, problems, passed := readSources(ctx, arg, opts)
		l.problems, l.set.Warnings = append(l.problems, problems...), append(l.set.Warnings, passed...)
		for _, s := range sources {
			l.source(ctx, s)
			read[filepath.Clean(s.name)] = true
		}
	}
	l.objectsOnly = true
	for _, arg := range opts.ConfigFrom {
		sources, problems, passed := readSources(ctx, arg, opts)
		l.problems, l.set.Warnings = append(l.problems, problems...), append(l.set.Warnings, passed...)
		for _, s := range sources {
			if !read[filepath.Clean(s.name)] {
				l.source(ctx, s)
			}
		}
	}
	l.admit()
	return l.finish()
}

// Parse is Load of one source that was read already; name is its own in
// messages. The pods are not admitted: see Admit.
func Parse(ctx context.Context, name string, data []byte, opts LoadOptions) (*Set, error) {
	l := newLoader(opts)
	l.source(ctx, source{name: name, data: data})
	return l.finish()
}

// ParseObjects is like Parse but reads no pods and no workloads.
func ParseObjects(ctx context.Context, name string, data []byte, opts LoadOptions) (*Set, error) {
	l := newLoader(opts)
	l.objectsOnly = true
	l.source(ctx, source{name: name, data: data})
	return l.finish()
}

func newLoader(opts LoadOptions) *loader {
	objects := pod.NewObjects()
	objects.Hostname = opts.Hostname
	return &loader{opts: opts, set: &Set{Objects: objects}, ignored: map[string]*ignoredField{}, documents: map[string]*Document{}}
}

// source takes the documents of one source.
func (l *loader) source(ctx context.Context, s source) {
	docs, problems := parse(s)
	l.problems = append(l.problems, problems...)
	for _, d := range docs {
		if ctx.Err() != nil {
			l.problems = append(l.problems, unreadable(s.name, context.Cause(ctx))...)
			break
		}
		before := len(l.problems)
		l.document(s.name, d.value, newPositions(d.root))
		if d.suspect != nil && len(l.problems) > before && !slices.ContainsFunc(l.problems[before:], func(p Problem) bool { return p.Line == d.suspect.Line && strings.Contains(p.Message, "U+") }) {
			l.problems = append(l.problems, *d.suspect)
		}
	}
}

// admit applies the objects of the input to its pods.
func (l *loader) admit() {
	if l.opts.ForCluster {
		l.set.Objects.Volumes = nil // what podctl cannot mount is no problem there
	}
	l.set.Objects = pod.Merge(l.set.Objects)
	understood := len(l.problems) == 0 // else what is not declared may be what was not understood
	is := map[*Pod]*Pod{}
	for i, p := range l.set.Pods {
		if is[p] = p; len(l.problems) > maxProblems {
			continue
		}
		admitted, findings := Admit(p, l.set.Objects)
		is[p], l.set.Pods[i] = admitted, admitted
		for _, f := range findings {
			switch {
			case f.Verdict == Unresolved && !understood:
			case f.Verdict == Deny, f.Verdict == Unresolved && l.opts.ObjectsComplete:
				l.problems = append(l.problems, f.Problem)
			case !l.opts.ForCluster:
				l.set.Warnings = append(l.set.Warnings, f.Problem)
			}
		}
	}
	for _, d := range l.set.Documents {
		for i, p := range d.Pods {
			d.Pods[i] = is[p]
		}
	}
	l.reportUnboundClaims()
	l.checkDefaultClasses()
}

// checkDefaultClasses reports all default priority classes but the first, as the API
// server's admission does (validatePriorityClass in plugin/pkg/admission/priority/admission.go).
func (l *loader) checkDefaultClasses() {
	first := ""
	for _, d := range l.set.Documents {
		class := l.set.Objects.PriorityClasses[types.NamespacedName{Name: d.Name}]
		switch {
		case d.Kind != "PriorityClass" || class == nil || !class.GlobalDefault || d.Name == first:
		case first == "":
			first = d.Name
		default:
			l.problems = append(l.problems, Problem{
				File: d.File, Line: d.positions.find(parsePath("globalDefault")).line, Kind: d.Kind, Name: d.Name, Field: "globalDefault",
				Message: fmt.Sprintf("PriorityClass %s is already marked as default. Only one default can exist", first),
			})
		}
	}
}

// finish returns what Load returns.
func (l *loader) finish() (*Set, error) {
	l.findTwins()
	l.warnIgnored()
	l.warnExported()
	l.warnPowerless()
	l.set.Warnings = sorted(l.set.Warnings)
	if len(l.problems) > 0 {
		return l.set, Problems(sorted(l.problems))
	}
	return l.set, nil
}

// loader gathers what Load returns.
type loader struct {
	opts     LoadOptions
	set      *Set
	problems []Problem
	// taken counts the documents and the items of lists; full: no more of them is read.
	taken int
	full  bool
	// objectsOnly: pods, workloads and what is unknown are passed over.
	objectsOnly bool
	// documents are those of objects and workloads, by kind and name.
	documents map[string]*Document
	// ignored is what was said to be ignored, by table path: it is said once.
	ignored map[string]*ignoredField
	// exported is what was dropped of documents that were exported from a cluster.
	exported exportedWarning
	// others are the documents that only a control plane could do something
	// with.
	others []other
}

type ignoredField struct {
	first Problem
	more  int
}

func (l *loader) warnIgnored() {
	for _, path := range slices.Sorted(maps.Keys(l.ignored)) {
		i := l.ignored[path]
		if i.more > 0 {
			i.first.Message += fmt.Sprintf(" (and in %s more)", plural.Of(i.more, "place"))
		}
		l.set.Warnings = append(l.set.Warnings, i.first)
	}
}

// findTwins reports pods that share a full name, and then those that share a
// UID. Each is reported at its second place and names the first.
func (l *loader) findTwins() {
	names, uids := map[string]*Pod{}, map[string]*Pod{}
	for _, p := range l.set.Pods {
		name := p.Namespace + "/" + p.Name
		problem := Problem{File: p.File, Kind: podKind.name, Name: p.Name}
		if first := names[name]; first != nil && p.Name != "" {
			problem.Line, problem.Field = p.LineOf("metadata.name"), "metadata.name"
			problem.Message = fmt.Sprintf("%s is also defined at %s:%d", name, first.File, first.LineOf("metadata.name"))
			problem.Hint = "give one of them another name or namespace"
			l.problems = append(l.problems, problem)
			continue
		}
		names[name] = p
		if first := uids[string(p.UID)]; first != nil && p.UID != "" {
			problem.Line, problem.Field = p.LineOf("metadata.uid"), "metadata.uid"
			problem.Message = fmt.Sprintf("%s is also the UID of pod %q at %s:%d", p.UID, first.Name, first.File, first.LineOf("metadata.uid"))
			problem.Hint = "leave metadata.uid out, and podctl makes one from the manifest"
			l.problems = append(l.problems, problem)
			continue
		}
		uids[string(p.UID)] = p
	}
}
