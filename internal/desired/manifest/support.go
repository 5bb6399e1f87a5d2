package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Use is a field that a manifest sets, with the row of the field table that
// it falls under.
type Use struct {
	// Path is the field as set, with indexes: spec.containers[0].image.
	Path string
	Line int
	// Field is the row. Support is the row's, but Refused where the row
	// does not cover the value.
	Field   Field
	Support Support
	// Value is the value where it decides, "" otherwise.
	Value string
}

// message returns the use as a problem or warning.
func (u Use) message() string {
	switch {
	case u.Support == Ignored:
		return "ignored: " + u.Field.Reason
	case u.Value != "":
		return fmt.Sprintf("%q: %s", u.Value, u.Field.Reason)
	}
	return u.Field.Reason
}

// usesOf holds what a document sets against the field table. A field is
// named at the highest place that has a row of its own; null is not set.
func usesOf(value any, table *branch, positions *positions) []Use {
	w := &useWalk{positions: positions}
	w.walk(value, nil, table, nil)
	slices.SortStableFunc(w.uses, func(a, b Use) int { return a.Line - b.Line })
	return w.uses
}

type useWalk struct {
	positions *positions
	uses      []Use
}

// walk descends value and table together; row is the closest row above.
func (w *useWalk) walk(v any, at path, b *branch, row *Field) {
	if v == nil {
		return
	}
	if b.row != nil {
		row = b.row
	}
	if len(b.below) == 0 {
		w.addUse(v, at, row)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		w.walkMapping(v, at, b, row)
	case []any:
		for i, item := range v {
			if next := b.child(step{kind: stepAny}); next != nil {
				w.walk(item, at.item(i), next, row)
			}
		}
	default:
		w.addUse(v, at, row)
	}
}

func (w *useWalk) walkMapping(m map[string]any, at path, b *branch, row *Field) {
	rest := len(m) == 0
	for _, key := range slices.Sorted(maps.Keys(m)) {
		below := at.field(key)
		next := b.child(below[len(at)])
		if next == nil {
			below = at.entry(key)
			next = b.child(below[len(at)])
		}
		switch {
		case next != nil:
			w.walk(m[key], below, next, row)
		case row != nil:
			rest = true
		default:
			w.addUse(m[key], at.field(escapeInvisible(key)), &Field{Support: Refused, Reason: "unknown to podctl"})
		}
	}
	if rest {
		w.addUse(m, at, row)
	}
}

func (w *useWalk) addUse(v any, at path, row *Field) {
	if v == nil || row == nil || isEmptyValue(v, *row) {
		return
	}
	u := Use{Path: at.String(), Line: w.positions.find(at).line, Field: *row, Support: row.Support}
	if row.Values != nil && !slices.Contains(row.Values, fmt.Sprint(v)) {
		u.Support, u.Value = Refused, fmt.Sprint(v)
	}
	w.uses = append(w.uses, u)
}

// isEmptyValue reports whether a value sets nothing: an empty list, and an empty
// mapping where that makes no difference. (An empty mapping may choose: a
// volume with `downwardAPI: {}` is one.)
func isEmptyValue(v any, row Field) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0 && (row.Support == Ignored || row.emptyAllowed)
	}
	return false
}

// other is a document of a kind that needs a control plane.
type other struct {
	file       string
	line       int
	kind, name string
}

// noEffectGroups are API groups without an effect on a single node, in addition to all
// groups below k8s.io.
var noEffectGroups = []string{"autoscaling", "policy", "extensions"}

// noEffectCoreKinds are such kinds of v1, and of the groups whose other kinds run.
var noEffectCoreKinds = strings.Fields(`Endpoints Namespace Node Event PodTemplate ControllerRevision Binding ComponentStatus`)

// isPowerless reports whether a document is of a kind that people put beside
// pods, and that has no effect without a control plane.
func isPowerless(version, kind string) bool {
	group, _, grouped := strings.Cut(version, "/")
	if !grouped || group == "apps" {
		return slices.Contains(noEffectCoreKinds, kind)
	}
	return slices.Contains(noEffectGroups, group) || strings.HasSuffix(group, ".k8s.io") && !isConfiguration(version)
}

func (l *loader) warnNoEffect(file, kind string, at *positions) {
	name := ""
	if n := at.find(parsePath("metadata.name")).value; n != nil {
		name = deref(n).Value
	}
	l.others = append(l.others, other{file, at.root.Line, kind, name})
}

// warnPowerless says once what of the input has no effect.
func (l *loader) warnPowerless() {
	if len(l.others) == 0 {
		return
	}
	var names []string
	for i, o := range l.others {
		text := fmt.Sprintf("%s %q", o.kind, o.name)
		if i > 0 {
			text += fmt.Sprintf(" (%s:%d)", o.file, o.line)
		}
		names = append(names, text)
	}
	first := l.others[0]
	l.set.Warnings = append(l.set.Warnings, Problem{
		File: first.file, Line: first.line, Message: "ignored without a control plane: " + strings.Join(names, ", "),
	})
}
