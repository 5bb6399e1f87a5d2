package manifest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
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
	// ConfigMaps, Secrets and claims are read.
	ConfigFrom []string
	// Elsewhere: the pods are not podctl's to run, so that what it would refuse
	// or ignore of them is neither a problem nor worth a warning.
	Elsewhere bool
	// ServiceAccounts is what becomes of the tokens of service accounts.
	ServiceAccounts ServiceAccounts
}

// Set is what the input holds. Where Load returned problems it has the pods
// that could be made sense of, for display only.
type Set struct {
	// Pods are in the order of the input; of a directory, by file name.
	Pods []*Pod
	// Objects are the ConfigMaps, Secrets and claims of the input. nil if
	// nothing was read.
	Objects *pod.Objects
	// Documents are the documents of objects and workloads, in the order of
	// the input.
	Documents []*Document
	// Warnings are sorted as problems are.
	Warnings []Problem
}

// Forget drops the parsed trees of all documents, which take several times the memory
// of the pods. Afterwards LineOf returns 0, and Uses nil.
func (s *Set) Forget() {
	for _, p := range s.Pods {
		p.value, p.positions = nil, nil
	}
	for _, d := range s.Documents {
		d.uses, d.positions = nil, nil
		for _, p := range d.Pods {
			p.value, p.positions = nil, nil
		}
	}
}

// Pod is one pod of the input: defaulted, validated, with its UID.
type Pod struct {
	*v1.Pod
	// File and Line are where its document begins.
	File string
	Line int
	// Document is what was read: canonical JSON, the namespace resolved,
	// nothing defaulted. Decode makes the same pod of it; two documents are
	// equal if and only if they are the same manifest.
	Document []byte
	// Workload identifies the workload of which it is a pod, KIND/NAMESPACE/NAME; "" if
	// it is a pod by itself.
	Workload string

	value     map[string]any
	positions *positions
	accounts  ServiceAccounts
}

// LineOf returns the line of a field such as spec.containers[0].image, or of the
// closest field around it that was written; 0 for a pod that was not loaded.
func (p *Pod) LineOf(field string) int { return p.positions.find(parsePath(field)).line }

// Uses lists the fields that the manifest sets, by line, with what podctl
// does with each.
func (p *Pod) Uses() []Use { return p.accounts.judge(usesOf(p.value, podKind.tree(), p.positions)) }

// Load reads pods from files, directories, URLs and standard input ("-"). All
// problems of all of them come back as one Problems; the Set is never nil.
func Load(ctx context.Context, paths []string, opts LoadOptions) (*Set, error) {
	l := newLoader(opts)
	read := map[string]bool{}
	for _, arg := range paths {
		sources, problems := readSources(ctx, arg, opts)
		l.problems = append(l.problems, problems...)
		for _, s := range sources {
			l.source(ctx, s)
			read[filepath.Clean(s.name)] = true
		}
	}
	l.objectsOnly = true
	for _, arg := range opts.ConfigFrom {
		sources, problems := readSources(ctx, arg, opts)
		l.problems = append(l.problems, problems...)
		for _, s := range sources {
			if !read[filepath.Clean(s.name)] {
				l.source(ctx, s)
			}
		}
	}
	return l.finish()
}

// Parse is Load of one source that was read already; name is its own in
// messages.
func Parse(ctx context.Context, name string, data []byte, opts LoadOptions) (*Set, error) {
	l := newLoader(opts)
	l.source(ctx, source{name: name, data: data})
	return l.finish()
}

// ParseObjects is like Parse but reads only ConfigMaps, Secrets and claims.
func ParseObjects(ctx context.Context, name string, data []byte) (*Set, error) {
	l := newLoader(LoadOptions{})
	l.objectsOnly = true
	l.source(ctx, source{name: name, data: data})
	return l.finish()
}

func newLoader(opts LoadOptions) *loader {
	return &loader{opts: opts, set: &Set{Objects: newObjects()}, ignored: map[string]*ignoredField{}, documents: map[string]*Document{}}
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
		l.document(s.name, d.value, newPositions(d.root))
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
	for _, i := range l.ignored {
		if i.more > 0 {
			i.first.Message += fmt.Sprintf(" (and in %s more)", plural(i.more, "place"))
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
