package cri

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Calls tracks the calls that the runtime has not answered. It is safe for concurrent use.
type Calls struct {
	now func() time.Time

	mu       sync.Mutex
	inFlight map[*CallInFlight]struct{}
	// unanswered are the calls that have passed their deadline, until they are
	// retried and answered, or not retried for retryTime.
	unanswered map[callKey]unansweredCall
}

// callKey identifies a call and its retries.
type callKey struct{ method, id string }

type unansweredCall struct{ first, last time.Time } // when the first try began, and the last one ended

const eventStream = "GetContainerEvents"

// retryTime is how long after its deadline a call is retried at the latest.
const retryTime = time.Minute

// CallInFlight is a call that the runtime has not answered.
type CallInFlight struct {
	Method string
	// ID is that of a container or sandbox, "" if the call is about none.
	ID    string
	Since time.Time
}

var _ CallWatcher = (*Calls)(nil)

// NewCalls tracks calls in flight.
func NewCalls(now func() time.Time) *Calls {
	return &Calls{now: now, inFlight: map[*CallInFlight]struct{}{}, unanswered: map[callKey]unansweredCall{}}
}

// Begin implements CallWatcher.
func (c *Calls) Begin(method, id string) (end func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := &CallInFlight{Method: method, ID: id, Since: c.now()}
	c.inFlight[call] = struct{}{}
	return func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.inFlight, call)
		c.answered(call, err)
	}
}

// answered records whether a call was answered, with the lock held.
func (c *Calls) answered(call *CallInFlight, err error) {
	key, now := callKey{call.Method, call.ID}, c.now()
	given := !errors.Is(err, ErrDeadline) && !errors.Is(err, context.Canceled) // the PLEG cancels a call at its deadline
	if given || call.Method == eventStream {
		delete(c.unanswered, key)
		return
	}
	c.forget(now)
	u, retried := c.unanswered[key]
	if !retried {
		u.first = call.Since
	}
	u.last = now
	c.unanswered[key] = u
}

// forget removes the calls that are not retried, with the lock held.
func (c *Calls) forget(now time.Time) {
	maps.DeleteFunc(c.unanswered, func(_ callKey, u unansweredCall) bool { return now.Sub(u.last) > retryTime })
}

// Unanswered are the calls of one method that the runtime has not answered.
type Unanswered struct {
	// Number is how many there are; a call and its retries are one. Since is when
	// the oldest began.
	Number int
	Since  time.Time
}

// Join returns the calls of both.
func (u Unanswered) Join(v Unanswered) Unanswered {
	if u.Number == 0 || v.Number > 0 && v.Since.Before(u.Since) {
		u.Since = v.Since
	}
	u.Number += v.Number
	return u
}

// Unanswered returns the calls that the runtime has not answered, by method. A call
// that is retried after its deadline counts from the first try. The event stream
// is left out: it is meant to last.
func (c *Calls) Unanswered() map[string]Unanswered {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(c.now())
	by := map[string]Unanswered{}
	for key, u := range c.unanswered {
		by[key.method] = by[key.method].Join(Unanswered{1, u.first})
	}
	for call := range c.inFlight {
		if _, retry := c.unanswered[callKey{call.Method, call.ID}]; !retry && call.Method != eventStream {
			by[call.Method] = by[call.Method].Join(Unanswered{1, call.Since})
		}
	}
	return by
}

// InFlight returns the calls in flight, oldest first.
func (c *Calls) InFlight() []CallInFlight {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := make([]CallInFlight, 0, len(c.inFlight))
	for call := range c.inFlight {
		calls = append(calls, *call)
	}
	slices.SortFunc(calls, func(a, b CallInFlight) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Method, b.Method), cmp.Compare(a.ID, b.ID))
	})
	return calls
}

// Oldest returns the call in flight that began first, of those that match; nil
// if none does.
func (c *Calls) Oldest(match func(CallInFlight) bool) *CallInFlight {
	calls := c.InFlight()
	if i := slices.IndexFunc(calls, match); i >= 0 {
		return &calls[i]
	}
	return nil
}
