package trace

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/lab/relay"
)

// begin is when the calls of the tests begin.
var begin = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// testCall is a call of a test.
type testCall struct {
	method            string
	request, response proto.Message
	took              time.Duration
	code              codes.Code
	status            string
	caller            relay.Caller
}

const (
	runtimeService = "/runtime.v1.RuntimeService/"
	imageService   = "/runtime.v1.ImageService/"
)

var nextID uint64

// add lets a tracer see a whole call.
func add(t *testing.T, tracer *Tracer, m testCall) *Entry {
	t.Helper()
	nextID++
	c := &relay.Call{ID: nextID, Caller: m.caller, Method: m.method, Start: begin}
	tracer.Began(c)
	for _, part := range []struct {
		side    relay.Side
		message proto.Message
		count   *int
	}{{relay.FromCaller, m.request, &c.Requests}, {relay.FromRuntime, m.response, &c.Responses}} {
		if part.message == nil {
			continue
		}
		data, err := proto.Marshal(part.message)
		if err != nil {
			t.Fatal(err)
		}
		*part.count++
		tracer.Message(c, part.side, relay.Message{Size: len(data), Data: data})
	}
	c.End, c.Code, c.Status = begin.Add(m.took), m.code, m.status
	return tracer.Ended(c)
}
