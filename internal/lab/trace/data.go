package trace

import "time"

// Data is one line of -o json.
type Data struct {
	Type     string     `json:"type"` // call; inFlight: it has not ended
	Start    time.Time  `json:"start"`
	Caller   CallerData `json:"caller"`
	Service  string     `json:"service"`
	Method   string     `json:"method"`
	Target   Target     `json:"target"`
	Took     float64    `json:"tookSeconds"`
	Timeout  float64    `json:"timeoutSeconds,omitempty"` // the caller's deadline
	Code     string     `json:"code,omitempty"`           // of gRPC: OK, NotFound …; "" in flight
	Message  string     `json:"message,omitempty"`        // the runtime's error
	Detail   string     `json:"detail,omitempty"`         // the fields that matter, as in the table
	Stream   bool       `json:"stream,omitempty"`
	Requests int        `json:"requests"`  // messages
	Answers  int        `json:"responses"` // messages
	// Request and Response are the messages in protobuf JSON, masked; absent if the method
	// is not known, the call is a stream, or the message has more than 64 KiB.
	Request  any `json:"request,omitempty"`
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
