package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/plural"
)

// Problem is one thing that is wrong with one place of the input, or, in
// Set.Warnings, worth knowing.
type Problem struct {
	// File is the file, URL or "stdin" as it was named.
	File string
	// Line counts from 1; 0 where the problem is about the whole file.
	Line int
	// Kind and Name are those of the document's object ("Pod", "ConfigMap"
	// …); Name is "" where it has none, or the problem is about none.
	Kind, Name string
	// Field is the path of the field in the form of the API server
	// (spec.containers[0].image), "" where it is about none.
	Field string
	// Message says what is wrong, Hint what to do about it, or is "".
	Message, Hint string

	err error
}

// String returns the problem on one line, without its hint:
// `web.yaml:4: pod "web": spec.containers[0].image: Required value`.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Name != "" {
		fmt.Fprintf(&b, ": %s %q", strings.ToLower(p.Kind), p.Name)
	}
	if p.Field != "" {
		b.WriteString(": " + p.Field)
	}
	return b.String() + ": " + p.Message
}

// Unwrap returns the cause where there is one, such as fs.ErrNotExist.
func (p Problem) Unwrap() error { return p.err }

// Error is String: a Problem is an error, so that errors.As and errors.Is see
// into Problems.
func (p Problem) Error() string { return p.String() }

// Problems are all the problems of a Load, sorted by file and line. It is the
// error that Load returns; it is never empty then.
type Problems []Problem

var _ error = Problems(nil)

// Error returns one line for each problem, each hint on a line below its problem.
func (ps Problems) Error() string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
		if p.Hint != "" {
			b.WriteString("\n  hint: " + p.Hint)
		}
	}
	return b.String()
}

// Unwrap lists the problems for errors.Is and errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// And is these problems and more of them, sorted as Load sorts them.
func (ps Problems) And(more []Problem) Problems { return sorted(slices.Concat(ps, more)) }

// Summary counts: "3 problems in 1 file".
func (ps Problems) Summary() string {
	files := map[string]bool{}
	for _, p := range ps {
		files[p.File] = true
	}
	return plural.Of(len(ps), "problem") + " in " + plural.Of(len(files), "file")
}

// sorted orders by file and line, keeps the order of discovery on one line,
// and drops what was said twice.
func sorted(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	type said struct {
		line                             int
		file, kind, name, field, message string
	}
	seen := map[said]bool{}
	return slices.DeleteFunc(ps, func(p Problem) bool {
		key := said{p.Line, p.File, p.Kind, p.Name, p.Field, p.Message}
		if seen[key] {
			return true
		}
		seen[key] = true
		return false
	})
}
