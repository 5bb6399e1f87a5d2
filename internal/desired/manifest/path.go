package manifest

import (
	"slices"
	"strconv"
	"strings"
)

// step is one step into a document: a field by name, an item of a list by
// index, or an entry of a map by key. Field and entry are the same in YAML;
// they print differently.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind uint8

const (
	stepField stepKind = iota // .name
	stepIndex                 // [3]
	stepKey                   // [name], of a map such as labels
	stepAny                   // [], any item: in suggestions and in the field table
)

// path leads from a document's root to one of its values. Paths are never
// changed in place: child makes a new one.
type path []step

func (p path) child(s step) path      { return append(slices.Clip(p), s) }
func (p path) field(name string) path { return p.child(step{name: name}) }
func (p path) entry(key string) path  { return p.child(step{name: key, kind: stepKey}) }
func (p path) item(i int) path        { return p.child(step{index: i, kind: stepIndex}) }
func (p path) anyItem() path          { return p.child(step{kind: stepAny}) }

// String returns the form of the API server: spec.containers[0].env[1].name,
// metadata.labels[a.b/c].
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch s.kind {
		case stepField:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		case stepIndex:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case stepKey:
			b.WriteString("[" + s.name + "]")
		case stepAny:
			b.WriteString("[]")
		}
	}
	return b.String()
}

// parsePath reads what String and field.Path write. A number in brackets is
// an index; whether it is the key of a map shows when it is looked up.
func parsePath(text string) path {
	var p path
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "["); ok {
			inner, after, _ := strings.Cut(rest, "]")
			text = after
			if inner == "" {
				p = append(p, step{kind: stepAny})
			} else if i, err := strconv.Atoi(inner); err == nil && i >= 0 {
				p = append(p, step{index: i, name: inner, kind: stepIndex})
			} else {
				p = append(p, step{name: inner, kind: stepKey})
			}
			continue
		}
		text = strings.TrimPrefix(text, ".")
		end := strings.IndexAny(text, ".[")
		if end < 0 {
			end = len(text)
		}
		if end > 0 {
			p = append(p, step{name: text[:end]})
		}
		text = text[end:]
	}
	return p
}

// under reports whether a field's printed path is at or below another's.
func under(field, top string) bool {
	rest, ok := strings.CutPrefix(field, top)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
