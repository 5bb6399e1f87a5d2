package relay

import (
	"time"

	"google.golang.org/grpc/codes"
)

// Caller is the process that opened a connection.
type Caller struct {
	PID int // 0 if unknown: in another PID namespace
	// Comm is the name of the process when it connected, "" if unknown. The kernel cuts
	// it to 15 bytes, and the process may choose it.
	Comm string
}

// Call is one gRPC call. It belongs to the decoder of its connection: an Observer reads it
// only while it is called.
type Call struct {
	ID     uint64 // unique within the Relay
	Caller Caller
	Method string // as on the wire: /runtime.v1.RuntimeService/Version
	Start  time.Time
	// End is zero while the call is in flight.
	End time.Time
	// Timeout is the caller's when the call began, 0 without a deadline.
	Timeout time.Duration
	// Requests and Responses are the numbers of messages.
	Requests, Responses int
	// Code and Status are how the call ended: as the runtime said, or what the caller sees
	// where it was reset or the connection was closed.
	Code   codes.Code
	Status string

	request, response assembler
}

// Side is a side of a connection.
type Side uint8

const (
	// FromCaller is what the caller sends: requests.
	FromCaller Side = iota
	// FromRuntime is what the runtime sends: responses.
	FromRuntime
)

// Message is one gRPC message.
type Message struct {
	Size int
	// Data is nil where Size is not 0 and the message was not kept: it is compressed, or
	// too large.
	Data []byte
}

// Missed is why calls are not seen.
type Missed struct {
	Caller Caller
	Reason string
	// HTTP2: the connection is one of gRPC, with calls that are not seen.
	HTTP2 bool
}

// Observer is told about calls. It is called from one goroutine for each connection; the
// calls of one connection come in the order of their bytes.
type Observer interface {
	// Began is called when the headers of a call have been read.
	Began(c *Call)
	// Message is called for each message; Data is the Observer's.
	Message(c *Call, from Side, m Message)
	// Ended is called once for each call that began.
	Ended(c *Call)
	// Missed is called when no more calls of a connection are seen.
	Missed(m Missed)
}
