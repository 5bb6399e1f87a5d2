package trace

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/lab/relay"
)

// Entry is one call as it is printed.
type Entry struct {
	ID              uint64
	Start           time.Time
	Caller          relay.Caller
	Service, Method string
	Target          Target
	// Took is how long the call was in flight, so far if InFlight.
	Took     time.Duration
	InFlight bool
	Timeout  time.Duration // 0 without a deadline
	Code     codes.Code
	Status   string
	// Detail are the fields that matter, "" if there are none.
	Detail              string
	Stream              bool
	Requests, Responses int

	request, response proto.Message // nil if not decoded, or large
	secrets           bool
}

// Failed reports whether the call ended with an error. A stream that its caller ended did
// not fail.
func (e *Entry) Failed() bool {
	return !e.InFlight && e.Code != codes.OK && (!e.Stream || e.Code != codes.Canceled)
}

// maxShown is the size of the largest messages that are shown in JSON, in bytes: the lists
// of a large node are longer.
const maxShown = 64 << 10

// inFlight is a call that has not ended.
type inFlight struct {
	entry             Entry
	method            Method
	request, response proto.Message
	shown             bool // that it is in flight for long
}

// Tracer makes entries of calls. It is not safe for concurrent use.
type Tracer struct {
	Names Names
	// Secrets shows secret values instead of masking them.
	Secrets bool

	calls map[uint64]*inFlight
}

// Began notes a call.
func (t *Tracer) Began(c *relay.Call) {
	service, name := splitMethod(c.Method)
	if t.calls == nil {
		t.calls = map[uint64]*inFlight{}
	}
	m := CRIMethods()[c.Method]
	t.calls[c.ID] = &inFlight{method: m, entry: Entry{
		ID: c.ID, Start: c.Start, Caller: c.Caller, Service: service, Method: name, Timeout: c.Timeout, Stream: m.Stream, secrets: t.Secrets,
	}}
}

// Message notes a message of a call.
func (t *Tracer) Message(c *relay.Call, from relay.Side, m relay.Message) {
	call := t.calls[c.ID]
	if call == nil || m.Data == nil && m.Size > 0 {
		return
	}
	if from == relay.FromCaller {
		call.request = decode(call.method.Request, m.Data)
		call.entry.Target = t.Names.Target(call.request, nil)
		call.entry.request = retained(call.request, m)
		return
	}
	call.response = decode(call.method.Response, m.Data)
	t.Names.Learn(call.request, call.response)
	if !call.entry.Stream { // else it is one of many
		call.entry.response = retained(call.response, m)
	}
}

func retained(m proto.Message, of relay.Message) proto.Message {
	if of.Size > maxShown {
		return nil
	}
	return m
}

// Ended returns a call that ended.
func (t *Tracer) Ended(c *relay.Call) *Entry {
	call := t.calls[c.ID]
	if call == nil { // it began before the tracer
		t.Began(c)
		call = t.calls[c.ID]
	}
	delete(t.calls, c.ID)
	e := &call.entry
	e.Took, e.Code = c.End.Sub(c.Start), c.Code
	e.Status = maskStatus(c.Status, call.request, t.Secrets)
	e.Requests, e.Responses = c.Requests, c.Responses
	e.Stream = e.Stream || c.Responses > 1
	e.Target = t.Names.Target(call.request, call.response)
	e.Detail = detail(call.request, call.response, t.Secrets)
	if e.Stream {
		e.Detail = count(e.Responses, "message", "messages")
	}
	return e
}

// Result returns how a call ended, with the fields that matter: ok, 3 containers.
func (e *Entry) Result() string {
	text := "ok"
	switch {
	case e.InFlight && e.Timeout > 0:
		text = fmt.Sprintf("in flight, deadline in %s", (e.Timeout - e.Took).Round(time.Second))
	case e.InFlight:
		text = "in flight, without a deadline"
	case e.Code != 0:
		text = e.Code.String()
		if e.Status != "" {
			text += ": " + e.Status
		}
	}
	if e.Detail != "" {
		text += ", " + e.Detail
	}
	return text
}
