package relay

import (
	"fmt"
	"strings"
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

// String is "crictl 9311".
func (c Caller) String() string {
	if c.PID == 0 {
		return "unknown"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d", c.Comm, c.PID))
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
	// Timeout is the caller's deadline, as the time from Start; 0 without one.
	Timeout time.Duration
	// Requests and Responses count messages.
	Requests, Responses int
	// Code and Status are the gRPC status: the runtime's, or the one that the caller sees after
	// a reset or a closed connection.
	Code   codes.Code
	Status string

	request, response assembler
}

// Side is the peer that sends: it names a direction of a connection.
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

// Missed reports that the calls of a connection are not observed from now on.
type Missed struct {
	Caller Caller
	Reason string // why
	// HTTP2 reports whether the connection speaks HTTP/2: calls are missed, not only bytes.
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
	// Missed is called when the calls of a connection are not observed any more.
	Missed(m Missed)
}
