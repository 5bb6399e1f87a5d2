package rules

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// methodKind is the shape of a method's answer. message is an empty message of the type that a
// rule changes: the answer, or an entry of its list.
type methodKind struct {
	stream, list bool
	message      protoreflect.Message
}

// kindsOf returns how the methods of the CRI that match a pattern answer.
func kindsOf(pattern string) []methodKind {
	var all []methodKind
	for full, m := range trace.CRIMethods() {
		if matchText(pattern, path.Base(full)) {
			k := methodKind{stream: m.Stream, message: m.Response.New()}
			if k.list = ListField(k.message.Interface()) != ""; k.list {
				k.message = k.message.NewField(k.message.Descriptor().Fields().Get(0)).List().NewElement().Message()
			}
			all = append(all, k)
		}
	}
	return all
}

// checkMethod returns an error if the rule is for no method, or says something that does
// nothing with any method that it is for.
func (r *Rule) checkMethod() error {
	kinds := kindsOf(r.Method)
	if len(kinds) == 0 {
		near := suggest.Word(r.Method, trace.MethodNames())
		if near != "" {
			near = ": did you mean " + near
		}
		return fmt.Errorf("method=%s: the CRI has no such method%s", r.Method, near)
	}
	streams := func(k methodKind) bool { return k.stream }
	answers := func(k methodKind) bool { return !k.stream }
	lists := func(k methodKind) bool { return k.list }
	for _, act := range []struct {
		key   string
		given bool
		on    func(methodKind) bool
		what  string
	}{
		{"end", r.End, streams, "streams"},
		{"after", r.After > 0, streams, "streams"},
		{"drop", r.Drop, streams, "streams"},
		{"lost", r.Lost != codes.OK, answers, "calls with one answer"},
		{"stale", r.Stale > 0, answers, "calls with one answer"},
		{"omit", r.Omit, lists, "lists"},
		{"copies", r.Copies > 0, lists, "lists"},
		{"fill", r.Fill > 0, lists, "lists"},
	} {
		if act.given && !slices.ContainsFunc(kinds, act.on) {
			return fmt.Errorf("%s is for %s: %s is none", act.key, act.what, r.Method)
		}
	}
	for _, a := range slices.Concat(r.Set, r.Where) {
		if !slices.ContainsFunc(kinds, func(k methodKind) bool { return k.has(a.Path, jsonOf(a.Value)) }) {
			return fmt.Errorf("%s=%s: no answer of %s has that field with such a value", a.Path, a.Value, r.Method)
		}
	}
	for _, path := range r.Unset {
		if !slices.ContainsFunc(kinds, func(k methodKind) bool { return k.has(path, nil) }) {
			return fmt.Errorf("unset=%s: no answer of %s has that field", path, r.Method)
		}
	}
	if (r.Pod != "" || r.Container != "") && r.endsCall() && !slices.ContainsFunc(kinds, answers) {
		return fmt.Errorf("pod and container are of messages, and error, hang, end and close of all of %s", r.Method)
	}
	return nil
}

// has reports whether message accepts a value at a path of field names and list indices; nil
// stands for any value.
func (k methodKind) has(path string, value any) bool {
	for _, name := range slices.Backward(strings.Split(path, ".")) {
		if _, err := strconv.Atoi(name); err == nil {
			value = []any{value}
		} else {
			value = map[string]any{name: value}
		}
	}
	data, err := json.Marshal(value)
	return err == nil && protojson.Unmarshal(data, k.message.New().Interface()) == nil
}
