package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podctl/podctl/internal/sys/hint"
)

// builder makes one pod of one document and gathers what is wrong with it.
type builder struct {
	file      string
	kind      string
	name      string
	positions *positions
	problems  []Problem
	warnings  []Problem
	// excused are fields about which validation has nothing to add.
	excused []string
}

func newBuilder(file, kind string, at *positions) *builder {
	b := &builder{file: file, kind: kind, positions: at}
	if name := at.find(parsePath("metadata.name")).value; name != nil && deref(name).Tag != "!!null" {
		b.name = deref(name).Value // as written, also where it is no string
	}
	return b
}

// pod takes one pod document.
func (l *loader) pod(b *builder, _ *kind, doc map[string]any) {
	if p := b.build(doc); p != nil {
		p.read = l.opts.readFor()
		l.set.Pods = append(l.set.Pods, p)
		if l.opts.ForCluster {
			return
		}
		b.checkConditions(doc)
		warnRules(p.Pod, "podctl condition POD %s=True; or status.conditions of the manifest", b.warning)
		checkFreeValues(p.Pod, b.problem, b.warning)
		said := map[string]bool{}
		for _, problem := range b.problems {
			said[problem.Field] = true
		}
		for _, u := range p.Uses() {
			if u.Support != Refused || !said[u.Path] {
				l.reportUse(b, u)
			}
		}
	}
}

// reportUse reports a field that is refused, and notes one that is ignored.
func (l *loader) reportUse(b *builder, u Use) {
	switch u.Support {
	case Honoured:
	case Refused:
		b.problem(u.Path, u.message(), u.Field.Hint)
	case Ignored:
		if u.Field.reportedAtPods {
			return
		}
		if u.Field.Path == "metadata.generateName" && b.name == "" {
			return // an error, reported by checkRules
		}
		if said := l.ignored[u.Field.Path]; said != nil {
			said.more++
			return
		}
		l.ignored[u.Field.Path] = &ignoredField{first: b.at(u.Path, u.Line, u.message(), u.Field.Hint)}
	}
}

// build goes on as far as it can after each problem; nil if there is nothing
// to show for it.
func (b *builder) build(doc map[string]any) *Pod {
	clean := b.check(doc, podKind.t)
	document := canonical(doc)
	pod, err := decode(canonical(clean))
	if err != nil {
		b.problem("", err.Error(), "")
		return nil
	}
	b.validate(pod)
	checkRules(pod, b.problem)
	if pod.UID == "" {
		pod.UID = podUID(doc)
	}
	if err := fits(document); err != nil {
		b.tooLarge("", err)
	}
	return &Pod{Pod: pod, File: b.file, Line: b.positions.root.Line, Document: document, value: doc, positions: b.positions}
}

// check holds a document against its type, and returns what fits.
func (b *builder) check(doc map[string]any, t reflect.Type) map[string]any {
	checker := newChecker(b.positions,
		func(at path, line int, message, hint string) {
			b.problems = append(b.problems, b.at(at.String(), line, message, hint))
		},
		func(at path, line int, message, hint string) {
			b.warnings = append(b.warnings, b.at(at.String(), line, message, hint))
		})
	checker.secret, checker.data = b.kind == "Secret", b.kind == "ConfigMap"
	clean, _ := checker.check(doc, t, []level{{t: t}})
	b.excused = checker.excused
	return clean.(map[string]any)
}

// invalid adds the errors of the API server's validation.
func (b *builder) invalid(errs field.ErrorList) {
	for _, e := range errs {
		if slices.ContainsFunc(b.excused, func(top string) bool { return under(e.Field, top) }) {
			continue
		}
		for _, at := range b.entries(e) {
			b.problem(at, e.ErrorBody(), b.hint(e))
		}
	}
}

// entries returns the fields that an error is about. Of a mapping or list it names, those are
// the entries that have the value, as key or as value; of a field of a list without an index,
// those of its items.
func (b *builder) entries(e *field.Error) (fields []string) {
	at, bad := parsePath(e.Field), reflect.ValueOf(e.BadValue)
	if !bad.IsValid() || bad.Kind() != reflect.String || bad.String() == "" || len(at) == 0 {
		return []string{e.Field}
	}
	add := func(n *yamlv3.Node, found path, key string) {
		if n != nil && (key == bad.String() || deref(n).Value == bad.String()) {
			fields = append(fields, found.String())
		}
	}
	items := func(list path, below func(path) path) {
		n := deref(b.positions.find(list).value)
		for i := 0; b.positions.written(n, i) < len(n.Content); i++ {
			found := below(list.item(i))
			add(b.positions.find(found).value, found, "")
		}
	}
	here, last := b.positions.find(at).value, len(at)-1
	if list := b.positions.find(at[:last]).value; here == nil && list != nil && deref(list).Kind == yamlv3.SequenceNode {
		items(at[:last], func(item path) path { return item.child(at[last]) })
	} else if here != nil && deref(here).Kind == yamlv3.SequenceNode {
		items(at, func(item path) path { return item })
	} else if here != nil && deref(here).Kind == yamlv3.MappingNode {
		entries := b.positions.entries(deref(here))
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			add(entries[key].value, at.entry(key), key)
		}
	}
	if len(fields) == 0 {
		return []string{e.Field}
	}
	return fields
}

// validate adds what the API server has to say.
func (b *builder) validate(pod *v1.Pod) {
	errs, warnings, err := validate(pod)
	if err != nil {
		b.problem("", err.Error(), "")
		return
	}
	b.invalid(errs)
	if len(errs) == 0 && len(validation.IsDNS1123Label(pod.Name)) > 0 {
		b.warning("metadata.name", "the name is the hostname too, and no label of the DNS: at most 63 characters, no dots", "")
	}
	b.warned(warnings)
}

// warned adds the warnings of the API server, which are text.
func (b *builder) warned(warnings []string) {
	for _, w := range warnings {
		if at, message, ok := strings.Cut(w, ": "); ok && !strings.Contains(at, " ") {
			b.warning(at, message, "")
		} else {
			b.warning("", w, "")
		}
	}
}

// hint explains a template that was not filled in, what only podman understands, and a
// required value that was written, as a word for nothing.
func (b *builder) hint(e *field.Error) string {
	if text, ok := e.BadValue.(string); ok && b.kind != "Secret" && templateHint(text) != "" {
		return templateHint(text)
	}
	if strings.HasPrefix(e.Field, "metadata.annotations") && strings.Contains(e.Error(), `"bind-mount-options:`) {
		return "podman reads it, Kubernetes does not: leave it out"
	}
	if e.Type != field.ErrorTypeRequired {
		return ""
	}
	if n := b.positions.find(parsePath(e.Field)).value; n != nil && isPlain(deref(n)) {
		if text := deref(n).Value; slices.Contains([]string{"null", "Null", "NULL", "~"}, text) {
			return fmt.Sprintf("`%s` is no value in YAML; write %q if it is meant as text", text, text)
		}
	}
	return ""
}

func (b *builder) tooLarge(field string, err error) {
	tooLarge := b.at(field, 0, err.Error(), hint.Of(err))
	tooLarge.err = err
	b.problems = append(b.problems, tooLarge)
}

func (b *builder) problem(field, message, hint string) {
	b.problems = append(b.problems, b.at(field, 0, message, hint))
}

func (b *builder) warning(field, message, hint string) {
	b.warnings = append(b.warnings, b.at(field, 0, message, hint))
}

// at places a message about a field; a line of 0 is that of the field.
func (b *builder) at(field string, line int, message, hint string) Problem {
	line = cmp.Or(line, b.positions.find(parsePath(field)).line)
	return Problem{File: b.file, Line: line, Kind: b.kind, Name: b.name, Field: field, Message: message, Hint: hint}
}
