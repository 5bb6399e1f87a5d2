package trace

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/sys/plural"
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
		e.Detail = plural.Of(e.Responses, "message")
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

// Data is one line of -o json.
type Data struct {
	Type     string     `json:"type"`                     // call, or inFlight: it has not ended
	Start    time.Time  `json:"start"`                    // when its headers reached podctl
	Caller   CallerData `json:"caller"`                   // the process that opened the connection
	Service  string     `json:"service"`                  // runtime.v1.RuntimeService or runtime.v1.ImageService
	Method   string     `json:"method"`                   // RunPodSandbox, ListContainers, …
	Target   Target     `json:"target"`                   // what the call is about; {} for the whole runtime
	Took     float64    `json:"tookSeconds"`              // from its headers to its status, so far if it is in flight
	Timeout  float64    `json:"timeoutSeconds,omitempty"` // the caller's deadline when the call began
	Code     string     `json:"code,omitempty"`           // gRPC's: OK, NotFound …; missing if it is in flight
	Message  string     `json:"message,omitempty"`        // the runtime's error
	Detail   string     `json:"detail,omitempty"`         // the fields that matter, as in the table
	Stream   bool       `json:"stream,omitempty"`         // it may have many responses
	Requests int        `json:"requests"`                 // messages
	Answers  int        `json:"responses"`                // messages
	// the request in protobuf JSON, masked; missing if the method is not known, or it has more than 64 KiB
	Request any `json:"request,omitempty"`
	// the response in protobuf JSON, masked; missing if the method is not known, the call is a stream, or it has more than 64 KiB
	Response any `json:"response,omitempty"`
}

// CallerData is the process that made a call.
type CallerData struct {
	PID     int    `json:"pid,omitempty"`     // 0 if unknown: in another PID namespace
	Command string `json:"command,omitempty"` // its name when it connected
}

// Data returns the entry as -o json prints it.
func (e *Entry) Data() Data {
	d := Data{
		Type: "call", Start: e.Start, Caller: CallerData{e.Caller.PID, e.Caller.Comm}, Service: e.Service, Method: e.Method, Target: e.Target,
		Took: e.Took.Seconds(), Timeout: e.Timeout.Seconds(), Code: e.Code.String(), Message: e.Status, Detail: e.Detail, Stream: e.Stream,
		Requests: e.Requests, Answers: e.Responses, Request: messageJSON(e.request, e.secrets), Response: messageJSON(e.response, e.secrets),
	}
	if e.InFlight {
		d.Type, d.Code = "inFlight", ""
	}
	return d
}

// InFlight returns the calls in flight, the oldest first.
func (t *Tracer) InFlight(now time.Time) []*Entry {
	var all []*Entry
	for _, call := range t.calls {
		e := call.entry
		e.InFlight, e.Took = true, now.Sub(e.Start)
		e.Detail = detail(call.request, nil, t.Secrets)
		all = append(all, &e)
	}
	slices.SortFunc(all, func(a, b *Entry) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Overdue returns the unary calls that are in flight for longer than a time, each once.
func (t *Tracer) Overdue(now time.Time, after time.Duration) []*Entry {
	var overdue []*Entry
	for _, e := range t.InFlight(now) {
		call := t.calls[e.ID]
		if !e.Stream && !call.shown && e.Took >= after {
			call.shown = true
			overdue = append(overdue, e)
		}
	}
	return overdue
}
