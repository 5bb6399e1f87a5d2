package rules

import (
	"path"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/trace"
)

// Rule is what goes wrong with which calls. Empty fields match all.
type Rule struct {
	// Source is where the rule was read: FILE:LINE, or the flag.
	Source string
	// Text is the rule as Parse reads it.
	Text   string
	Method string // pattern
	Pod    string // pattern of [NAMESPACE/]POD
	// Container is a pattern.
	Container string
	Caller    string // pid, or pattern of a name
	// First and Last are of the matching calls that the rule is for, from 1; 0 for no limit.
	First, Last int
	// Probability is of a matching call, with Seed; 0 for every one.
	Probability float64
	Seed        uint64
	// From and Until are since the rule was added; Until is 0 for no end.
	From, Until time.Duration
	// Where has to be so of an answer, or of an entry of a list, that is changed.
	Where []Assignment

	Error   codes.Code // OK for none
	Message string     // of Error and Lost
	// DelayMin and DelayMax are before the call, or before each message of a stream.
	DelayMin, DelayMax time.Duration
	Hang               bool       // until the caller gives up, or the rule is removed; with Lost after the runtime did the work
	Lost               codes.Code // the answer, after the runtime did the work; OK for not
	Repeat             int        // more calls, or more copies of each message of a stream
	Set                []Assignment
	Unset              []string
	Omit               bool          // entries of a list
	Copies             int           // of each entry of a list, with other ids
	Fill               int           // entries of a list at least, by copies
	Stale              time.Duration // how old an answer may be that is given again
	Drop               bool          // messages of a stream
	Reorder            bool          // each message of a stream after the next one
	End                bool          // of a stream
	After              int           // messages of a stream that pass before Error, Hang, End and Close
	Close              bool          // of the caller's connection
}

// Assignment is a field of a message in protobuf JSON, and its value.
type Assignment struct {
	Path string // a.b.0.c
	// Value is the text of a string, a number, an enumeration or a bool; JSON if it begins
	// with { or [.
	Value string
}

// Call is what a rule matches.
type Call struct {
	Method string // without the service
	Target trace.Target
	Caller relay.Caller
	// List: the answer has entries, which Pod and Container select.
	List bool
	// Stream: the method streams answers.
	Stream bool
	// Message: it is one of the messages of a stream, not its begin.
	Message bool
	// Passed is the number of messages of a stream that its caller has.
	Passed int
}

// changesFields reports whether the act is on fields of answers.
func (r *Rule) changesFields() bool { return len(r.Set)+len(r.Unset) > 0 }

// changesEntries reports whether the act is on the entries of lists.
func (r *Rule) changesEntries() bool { return r.Omit || r.Copies > 0 || r.Fill > 0 }

// changesAnswer reports whether the act is on answers.
func (r *Rule) changesAnswer() bool { return r.changesFields() || r.changesEntries() }

// endsCall reports whether the act ends a call, whatever the runtime answers.
func (r *Rule) endsCall() bool {
	return r.Error != codes.OK || r.Hang || r.End || r.Close
}

// ends reports whether nothing is left of a call that other rules could be for.
func (r *Rule) ends(c Call) bool {
	switch {
	case c.Message:
		return r.Drop
	case r.Lost != codes.OK && !c.Stream:
		return false // the runtime is called
	}
	return r.endsCall()
}

// acts reports whether the rule does something with a call: what is of messages does nothing
// with a call that has one answer.
func (r *Rule) acts(c Call) bool {
	changes := r.Repeat > 0 || r.DelayMax > 0 || r.changesFields() || c.List && r.changesEntries()
	switch {
	case !c.Stream:
		return r.After == 0 && (changes || r.Error != codes.OK || r.Hang || r.Close || r.Lost != codes.OK || r.Stale > 0)
	case r.endsCall():
		return !c.Message && c.Passed == r.After
	}
	return c.Message && (changes || r.Drop || r.Reorder)
}

// matches reports whether a call is one that the rule is for, whatever its number. elapsed is
// since the rule was added.
func (r *Rule) matches(c Call, elapsed time.Duration) bool {
	if !matchText(r.Method, c.Method) || elapsed < r.From || r.Until > 0 && elapsed >= r.Until || !r.acts(c) {
		return false
	}
	if r.Caller != "" && r.Caller != strconv.Itoa(c.Caller.PID) && !matchText(r.Caller, c.Caller.Comm) {
		return false
	}
	return c.List && r.changesAnswer() || r.selects(c.Target)
}

// selects reports whether the rule is for a pod or container.
func (r *Rule) selects(t trace.Target) bool {
	name := t.Pod
	if strings.Contains(r.Pod, "/") {
		name = t.Namespace + "/" + t.Pod
	}
	return matchText(r.Pod, name) && matchText(r.Container, t.Container)
}

// matchText reports whether a text matches a pattern; "" matches all, and * also a /.
func matchText(pattern, text string) bool {
	if pattern == "" || pattern == "*" {
		return true
	}
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}
