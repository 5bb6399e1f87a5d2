package rules

import (
	"path"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/trace"
)

// Rule is a fault to inject, and the calls that it is injected into. A field without a value
// matches every call, or does nothing.
type Rule struct {
	// Source is where the rule was read: FILE:LINE, or the flag.
	Source string
	// Text is the rule as Parse reads it.
	Text   string
	Method string // pattern
	Pod    string // pattern of [NAMESPACE/]POD
	// Container is a pattern.
	Container string
	// First and Last bound the matching calls for which the rule fires, counted from 1; 0 for no
	// limit.
	First, Last int
	// Probability is that of the rule firing for a matching call, from 0 to 1, drawn with Seed;
	// 0 means always.
	Probability float64
	Seed        uint64
	// Where are the fields that an answer, or an entry of a list, must have to be changed.
	Where []Assignment

	Error   codes.Code    // OK for none
	Message string        // of Error and Lost
	Delay   time.Duration // before the call, or before each message of a stream
	Hang    bool          // until the caller gives up, or the rule is removed; with Lost after the runtime did the work
	Lost    codes.Code    // the answer, after the runtime did the work; OK for not
	Repeat  int           // more calls, or more copies of each message of a stream
	Set     []Assignment
	Unset   []string
	Omit    bool          // entries of a list
	Copies  int           // of each entry of a list, with other ids
	Fill    int           // entries of a list at least, by copies
	Stale   time.Duration // how old an answer may be that is given again
	Drop    bool          // messages of a stream
	End     bool          // of a stream
	After   int           // messages of a stream that pass before Error, Hang, End and Close
	Close   bool          // of the caller's connection
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

// isFinal reports whether the rule leaves nothing of a call for the rules after it.
func (r *Rule) isFinal(c Call) bool {
	switch {
	case c.Message:
		return r.Drop
	case r.Lost != codes.OK && !c.Stream:
		return false // the runtime is called
	}
	return r.endsCall()
}

// hasEffectOn reports whether the rule does something with a call: one for the messages of a
// stream does nothing with a call that has one answer.
func (r *Rule) hasEffectOn(c Call) bool {
	changes := r.Repeat > 0 || r.Delay > 0 || r.changesFields() || c.List && r.changesEntries()
	switch {
	case !c.Stream:
		return r.After == 0 && (changes || r.Error != codes.OK || r.Hang || r.Close || r.Lost != codes.OK || r.Stale > 0)
	case r.endsCall():
		return !c.Message && c.Passed == r.After
	}
	return c.Message && (changes || r.Drop)
}

// matches reports whether the rule is for a call, whatever First, Last and Probability.
func (r *Rule) matches(c Call) bool {
	return matchText(r.Method, c.Method) && r.hasEffectOn(c) && (c.List && r.changesAnswer() || r.selects(c.Target))
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
