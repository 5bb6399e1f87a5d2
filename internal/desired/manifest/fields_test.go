package manifest

import (
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

var podType = reflect.TypeFor[v1.Pod]()

// leaves calls visit with every path of the Pod type below which there is
// nothing more, each map having one entry.
func leaves(t reflect.Type, at path, visit func(path)) {
	t = elem(t)
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		leaves(t.Elem(), at.anyItem(), visit)
	case t.Kind() == reflect.Map:
		leaves(t.Elem(), at.entry("some/key"), visit)
	case len(fieldsOf(t)) > 0:
		for _, f := range fieldsOf(t) {
			leaves(f.t, at.field(f.name), visit)
		}
	default:
		visit(at)
	}
}

// rowOf is the row of the pod table that a path falls under, nil if there is none.
func rowOf(at path) *Field { return rowIn(podKind.tree(), at) }

func rowIn(b *branch, at path) *Field {
	row := (*Field)(nil)
	for _, s := range at {
		if b = b.child(s); b == nil {
			return row
		}
		if b.row != nil {
			row = b.row
		}
	}
	return row
}

func TestEveryPodFieldHasRow(t *testing.T) {
	n := 0
	leaves(podType, nil, func(at path) {
		n++
		if rowOf(at) == nil {
			t.Errorf("%s: no row of the field table speaks for it", at)
		}
	})
	if n < 500 {
		t.Errorf("only %d fields seen", n)
	}
}

func TestEveryRowNamesField(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range table() {
		if seen[row.Path] {
			t.Errorf("%s: two rows", row.Path)
		}
		seen[row.Path] = true
		if row.Support != Honoured && row.Reason == "" || len(row.Values) > 0 && row.Reason == "" {
			t.Errorf("%s: %s without a reason", row.Path, row.Support)
		}
		if at := missing(podType, parsePath(row.Path)); at != "" {
			t.Errorf("%s: the Pod type has no %s", row.Path, at)
		}
	}
}

// The tables of the other kinds are as complete, a workload's template as a
// pod's.
func TestEveryFieldOfOtherKindsHasRow(t *testing.T) {
	for _, k := range kinds {
		leaves(k.t, nil, func(at path) {
			if rowIn(k.tree(), at) == nil {
				t.Errorf("%s: %s: no row of the field table speaks for it", k.name, at)
			}
		})
		for _, row := range k.fields() {
			if at := missing(k.t, parsePath(row.Path)); at != "" {
				t.Errorf("%s: %s: the type has no %s", k.name, row.Path, at)
			}
		}
	}
}

// missing is the first step of a path that a type does not have.
func missing(t reflect.Type, at path) string {
	for _, s := range at {
		switch t = elem(t); {
		case s.kind == stepAny && t.Kind() == reflect.Slice, s.kind == stepKey && t.Kind() == reflect.Map:
			t = t.Elem()
			continue
		case s.kind != stepField:
			return s.tableKey()
		}
		var next reflect.Type
		for _, f := range fieldsOf(t) {
			if f.name == s.name {
				next = f.t
			}
		}
		if next == nil {
			return s.name
		}
		t = next
	}
	return ""
}

// Of two rows for one entry of a map the one in full wins, then the longer
// prefix.
func TestRowOf(t *testing.T) {
	for _, c := range []struct{ path, row string }{
		{"spec.containers[3].resources.limits[cpu]", "spec.containers[].resources.limits[cpu]"},
		{"spec.containers[3].resources.limits[hugepages-2Mi]", "spec.containers[].resources.limits[hugepages-*]"},
		{"spec.containers[3].resources.limits[a.b/gpu]", "spec.containers[].resources.limits[*]"},
		{"metadata.annotations[podctl.io/owner]", "metadata.annotations[podctl.io/*]"},
		{"metadata.annotations[note]", "metadata.annotations"},
		{"spec.initContainers[0].livenessProbe.exec.command", "spec.initContainers[].livenessProbe"},
	} {
		if row := rowOf(parsePath(c.path)); row == nil || row.Path != c.row {
			t.Errorf("%s: got row %v, want %s", c.path, row, c.row)
		}
	}
}

// What the API server drops because a feature gate is off by default must
// not count as honoured: it would be lost in silence.
func TestFieldsOfClosedGatesAreNotHonoured(t *testing.T) {
	full := filled(podType, map[reflect.Type]bool{}).Interface().(v1.Pod)
	dropped, err := dropDisabled(&full)
	if err != nil {
		t.Fatal(err)
	}
	before, after := settings(t, full), settings(t, *dropped)
	n := 0
	for at := range before {
		if _, kept := after[at]; kept || strings.HasPrefix(at, "status") {
			continue
		}
		n++
		if strings.HasSuffix(at, ".lifecycle.stopSignal") {
			continue // podctl has this gate open: see kubelet-differences.md
		}
		if row := rowOf(parsePath(at)); row == nil || row.Support == Honoured && row.Values == nil {
			t.Errorf("%s is dropped by the API server, and honoured here", at)
		}
	}
	if n == 0 {
		t.Error("no field was dropped: the test shows nothing")
	}
	t.Logf("%d of %d fields belong to closed gates", n, len(before))
}

// settings is the set of leaf paths that a pod sets.
func settings(t *testing.T, p v1.Pod) map[string]any {
	value, err := unmarshal(mustJSON(t, p))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	var walk func(v any, at path)
	walk = func(v any, at path) {
		switch v := v.(type) {
		case map[string]any:
			for key, below := range v {
				walk(below, at.field(key))
			}
		case []any:
			for i, below := range v {
				walk(below, at.item(i))
			}
		default:
			all[at.String()] = v
		}
	}
	walk(value, nil)
	return all
}

// filled is a value of a type with everything in it set once.
func filled(t reflect.Type, above map[reflect.Type]bool) reflect.Value {
	v := reflect.New(t).Elem()
	if above[t] || decodesItself(t) {
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(filled(t.Elem(), above))
	case reflect.Struct:
		above[t] = true
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(filled(t.Field(i).Type, above))
			}
		}
		delete(above, t)
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem(), above)))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(filled(t.Key(), above), filled(t.Elem(), above))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint('x')
	}
	return v
}
