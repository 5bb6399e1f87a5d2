package trace

import "time"

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
