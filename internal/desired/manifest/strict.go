package manifest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// maxSuggestions bounds the work that a file of rubbish can make.
const maxSuggestions = 50

// checker holds a decoded value against a Go type, as the strict decoder of
// the API server does, but goes on after the first problem: what does not
// fit is reported and left out of the clean value, which then decodes.
type checker struct {
	positions *positions
	// report and warn take a line of 0 to mean that of the field.
	report func(at path, line int, message, hint string)
	warn   func(at path, line int, message, hint string)
	// excused collects the fields about which the validation should be
	// silent: what was left out is not missing.
	excused     []string
	suggestions int
	// scanned are the mappings whose keys were looked at.
	scanned map[*yamlv3.Node]bool
	// secret: no message may tell a value.
	secret bool
	// data: values are a user's own text.
	data bool
}

func newChecker(positions *positions, report, warn func(at path, line int, message, hint string)) *checker {
	return &checker{positions: positions, report: report, warn: warn, scanned: map[*yamlv3.Node]bool{}}
}

// check returns the value without what does not fit t, and whether anything
// of it is left. levels lead to this place and include it.
func (c *checker) check(v any, t reflect.Type, levels []level) (clean any, ok bool) {
	if v == nil {
		return nil, true
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	at := levels[len(levels)-1].at
	if decodesItself(t) {
		data := marshal(v)
		if (t != quantityType || isBoundedQuantity(data)) && json.Unmarshal(data, reflect.New(t).Interface()) == nil {
			return v, true
		}
		return nil, c.wrongType(at, v, wantedOf(t))
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		m, isMap := v.(map[string]any)
		if !isMap {
			return nil, c.wrongType(at, v, wantedMapping)
		}
		return c.mapping(m, t, levels), true
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return c.base64(v, at)
		}
		list, isList := v.([]any)
		if !isList {
			return nil, c.wrongType(at, v, wantedList)
		}
		return c.list(list, t, levels), true
	}
	return c.scalar(v, t, at)
}

func (c *checker) mapping(m map[string]any, t reflect.Type, levels []level) map[string]any {
	clean := make(map[string]any, len(m))
	at := levels[len(levels)-1].at
	c.keys(c.positions.find(at).value, t, at)
	known := map[string]reflect.Type{}
	for _, f := range fieldsOf(t) {
		known[f.name] = f.t
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		next, below := known[key], at.field(key)
		if t.Kind() == reflect.Map {
			next, below = t.Elem(), at.entry(key)
		}
		if next == nil {
			c.unknown(key, below, levels)
			continue
		}
		if v, ok := c.check(m[key], next, append(levels, level{elem(next), below})); ok {
			clean[key] = v
		}
	}
	return clean
}

// keys looks at the keys of a mapping as they are written, and at those of
// the mappings merged into it.
func (c *checker) keys(n *yamlv3.Node, t reflect.Type, at path) {
	if n == nil || c.scanned[deref(n)] {
		return
	}
	n = deref(n)
	c.scanned[n] = true
	below := at.field
	if t.Kind() == reflect.Map {
		below = at.entry
	}
	switch n.Kind {
	case yamlv3.MappingNode:
		scanKeys(n, func(name string, line, first int) {
			c.report(below(name), line, fmt.Sprintf("duplicate field, first on line %d", first), "")
		}, func(name, written string, line int) {
			c.warn(below(name), line, fmt.Sprintf("the key `%s` is read as %q in YAML 1.1", written, name), fmt.Sprintf("write %q", written))
		})
		for i := 0; i+1 < len(n.Content); i += 2 {
			if isMerge(n.Content[i]) {
				c.keys(n.Content[i+1], t, at)
			}
		}
	case yamlv3.SequenceNode: // of merged mappings
		for _, merged := range n.Content {
			c.keys(merged, t, at)
		}
	}
}

// list keeps the indexes: what does not fit becomes null.
func (c *checker) list(list []any, t reflect.Type, levels []level) []any {
	clean := make([]any, len(list))
	at := levels[len(levels)-1].at
	for i, v := range list {
		clean[i], _ = c.check(v, t.Elem(), append(levels, level{elem(t.Elem()), at.item(i)}))
	}
	return clean
}

func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func (c *checker) unknown(name string, at path, levels []level) {
	if what := firstInvisible(name); what != "" {
		message, hint := "unknown field: its name has "+what, invisibleHint
		if strings.TrimLeftFunc(name, isInvisible) != name {
			message, hint = what+inIndentation, "indent with spaces"
		}
		c.report(at[:len(at)-1].field(escapeInvisible(name)), c.positions.find(at).line, message, hint)
		return
	}
	hint := ""
	if name == "$patch" {
		hint = "this is a patch, which changes another manifest: kubectl kustomize DIR | podctl run -"
	} else if c.suggestions++; c.suggestions <= maxSuggestions {
		if text, here := suggestField(name, levels); text != "" {
			hint = "did you mean " + text + "?"
			if here {
				c.excused = append(c.excused, levels[len(levels)-1].at.field(text).String())
			}
		}
	}
	c.report(at, 0, "unknown field", hint)
}

// base64 decodes bytes, which JSON writes in base64. Messages do not contain them.
func (c *checker) base64(v any, at path) (any, bool) {
	text, ok := v.(string)
	if !ok {
		return nil, c.refuse(at, "expected a base64 string, got "+describe(v), "")
	}
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		return nil, c.refuse(at, "the value is not base64", "plain text belongs in stringData of a Secret, in data of a ConfigMap")
	}
	return v, true
}

func (c *checker) scalar(v any, t reflect.Type, at path) (any, bool) {
	node := c.positions.find(at).value
	switch kind := t.Kind(); kind {
	case reflect.String:
		if text, ok := v.(string); ok {
			if what := unexpectedInvisible(text); what != "" && !c.secret && !c.data {
				c.warn(at, 0, "the value has "+what, invisibleHint)
			} else if isUnfilled(text) && !c.secret && !c.data {
				c.warn(at, 0, notFilledIn, templateHint(text))
			}
			return v, true
		}
		if c.secret {
			return nil, c.refuse(at, "expected a string, got "+describe(v), "put it in quotes")
		}
		message, hint := notText(v, node)
		if isUnfilled(v) {
			hint = templates[2].hint
		}
		return nil, c.refuse(at, message, hint)
	case reflect.Bool:
		if _, ok := v.(bool); ok {
			return v, true
		}
		return nil, c.wrongType(at, v, wantedBoolean)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		number, ok := v.(json.Number)
		if !ok {
			return nil, c.wrongType(at, v, wantedInteger)
		}
		if _, err := strconv.ParseInt(number.String(), 10, t.Bits()); err != nil {
			return nil, c.refuse(at, number.String()+" is not a whole number of "+strconv.Itoa(t.Bits())+" bits", "")
		}
		if message, hint, surprise := octalInteger(number, node); surprise && !isMode(at) {
			c.warn(at, 0, message, hint)
		}
	}
	return v, true
}

// isMode reports whether the field has permissions of files, which everybody
// writes in octal.
func isMode(at path) bool {
	name := at[len(at)-1].name
	return name == "mode" || name == "defaultMode"
}

// wrongType reports a value of the wrong type. It returns false, for its callers.
func (c *checker) wrongType(at path, v any, wanted string) bool {
	hint, got := "", describe(v)
	switch text, isText := v.(string); {
	case isText && !c.secret && isScalarWord(wanted) && len(text) <= maxSuggestedName:
		got, hint = strconv.Quote(text), valueHint(at[len(at)-1].name, text, wanted)
	case isText && templateHint(text) != "":
		hint = templateHint(text)
	case wanted == wantedList:
		hint = "begin each item with a dash: - …"
	}
	if isUnfilled(v) {
		hint = cmp.Or(hint, templates[2].hint)
	}
	return c.refuse(at, "expected "+wanted+", got "+got, hint)
}

func (c *checker) refuse(at path, message, hint string) bool {
	c.excused = append(c.excused, at.String())
	c.report(at, 0, message, hint)
	return false
}

var unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

// decodesItself reports whether a type has its own form in JSON.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(unmarshalerType)
}
