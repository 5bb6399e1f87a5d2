package rules

import (
	"fmt"
	"path"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// kind is how a method answers.
type kind struct{ stream, list bool }

// kindsOf returns how the methods of the CRI that match a pattern answer.
func kindsOf(pattern string) []kind {
	var all []kind
	for full, m := range trace.MethodsOfCRI() {
		if matchText(pattern, path.Base(full)) {
			all = append(all, kind{m.Stream, ListField(m.Response.New().Interface()) != ""})
		}
	}
	return all
}

// checkMethod returns an error if the rule is for no method, or says something that does
// nothing with any method that it is for.
func (r *Rule) checkMethod() error {
	kinds := kindsOf(r.Method)
	if len(kinds) == 0 {
		near := suggest.Word(r.Method, trace.Methods())
		if near != "" {
			near = ": did you mean " + near
		}
		return fmt.Errorf("method=%s: the CRI has no such method%s", r.Method, near)
	}
	streams := func(k kind) bool { return k.stream }
	answers := func(k kind) bool { return !k.stream }
	lists := func(k kind) bool { return k.list }
	for _, act := range []struct {
		key   string
		given bool
		on    func(kind) bool
		what  string
	}{
		{"end", r.End, streams, "streams"},
		{"after", r.After > 0, streams, "streams"},
		{"drop", r.Drop, streams, "streams"},
		{"reorder", r.Reorder, streams, "streams"},
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
	if (r.Pod != "" || r.Container != "") && r.endsCall() && !slices.ContainsFunc(kinds, answers) {
		return fmt.Errorf("pod and container are of messages, and error, hang, end and close of all of %s", r.Method)
	}
	return nil
}
