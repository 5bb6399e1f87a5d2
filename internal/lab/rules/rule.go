package rules

import (
	"fmt"
	"hash/fnv"
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
	// From and Until are since the proxy began; Until is 0 for no end.
	From, Until time.Duration
	// Where has to be so of an answer, or of an entry of a list, that is changed.
	Where []Assignment

	Error   codes.Code // OK for none
	Message string     // of Error and Lost
	// DelayMin and DelayMax are before the call, or before each message of a stream.
	DelayMin, DelayMax time.Duration
	Hang               bool       // until the caller gives up
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
	End                bool          // of a stream, as soon as it begins
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
	// Message: it is one of the messages of a stream, not its begin.
	Message bool
}

// changesAnswer reports whether the act is on answers.
func (r *Rule) changesAnswer() bool {
	return len(r.Set)+len(r.Unset) > 0 || r.Omit || r.Copies > 0 || r.Fill > 0
}

// onMessages reports whether the act is on the messages of a stream.
func (r *Rule) onMessages() bool {
	return r.Drop || r.Reorder || r.Repeat > 0 || r.DelayMax > 0 || r.changesAnswer()
}

// endsCall reports whether the act ends the call before the runtime is called.
func (r *Rule) endsCall() bool {
	return r.Error != codes.OK || r.Hang || r.End || r.Close
}

// matches reports whether a call is one that the rule is for, whatever its number.
func (r *Rule) matches(c Call, stream bool, elapsed time.Duration) bool {
	if !matchText(r.Method, c.Method) || elapsed < r.From || r.Until > 0 && elapsed >= r.Until {
		return false
	}
	if stream && c.Message != (r.onMessages() && !r.endsCall()) {
		return false
	}
	if r.Caller != "" && r.Caller != strconv.Itoa(c.Caller.PID) && !matchText(r.Caller, c.Caller.Comm) {
		return false
	}
	return c.List || r.selects(c.Target)
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

// Counted is a rule with what it did.
type Counted struct {
	Rule
	Seen  int // calls that matched
	Fired int
}

// Set is rules that count. The zero value has none.
type Set struct{ Rules []*Counted }

// NewSet returns a set of rules that have not fired.
func NewSet(all []Rule) *Set {
	s := &Set{}
	for _, r := range all {
		s.Rules = append(s.Rules, &Counted{Rule: r})
	}
	return s
}

// Decide returns the rules that fire for a call, in their order. stream says that the method
// streams answers.
func (s *Set) Decide(c Call, stream bool, elapsed time.Duration) []*Firing {
	var fired []*Firing
	for i, r := range s.Rules {
		if !r.matches(c, stream, elapsed) {
			continue
		}
		r.Seen++
		if r.Seen < r.First || r.Last > 0 && r.Seen > r.Last {
			continue
		}
		chance := draw(r.Seed, i, r.Seen)
		if r.Probability > 0 && chance >= r.Probability {
			continue
		}
		r.Fired++
		delay := r.DelayMin + time.Duration(draw(r.Seed, i, -r.Seen)*float64(r.DelayMax-r.DelayMin))
		fired = append(fired, &Firing{Rule: &r.Rule, Number: r.Fired, Delay: delay})
	}
	return fired
}

// Firing is a rule that fires.
type Firing struct {
	*Rule
	Number int           // of the firings of the rule, from 1
	Delay  time.Duration // as drawn
}

// draw returns a number from 0 to less than 1 that is of a seed, a rule and a call.
func draw(seed uint64, rule, call int) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d/%d", seed, rule, call)
	x := h.Sum64() // its low bits differ most: mix them upwards
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
