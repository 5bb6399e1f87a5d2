package tape

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/relay"
)

// Calls of a relay are on the tape if they read, and were seen whole.
func TestObserverRecordsTheAnswersThatPass(t *testing.T) {
	start := time.Unix(1000, 0)
	o := &Observer{Writer: NewWriter(Header{Start: start}), Now: func() time.Time { return start.Add(time.Minute) }}
	id := uint64(0)
	call := func(method string, code codes.Code, request []byte, responses ...relay.Message) {
		id++
		c := &relay.Call{ID: id, Method: method, Start: start}
		o.Began(c)
		o.Message(c, relay.FromCaller, relay.Message{Size: len(request), Data: request})
		for _, m := range responses {
			o.Message(c, relay.FromRuntime, m)
		}
		c.End, c.Code, c.Status = start.Add(time.Duration(id)*time.Second), code, "why"
		o.Ended(c)
	}
	message := func(b []byte) relay.Message { return relay.Message{Size: len(b), Data: b} }
	version := func(name string) relay.Message {
		return message(encode(t, &runtimeapi.VersionResponse{RuntimeName: name}))
	}
	event := message(encode(t, &runtimeapi.ContainerEventResponse{ContainerId: "c"}))
	asked := runtimeapi.RuntimeService_Version_FullMethodName
	call(asked, codes.OK, nil, version("a"))
	call(asked, codes.OK, nil, relay.Message{}) // an empty answer
	call(asked, codes.OK, nil, relay.Message{Size: 1 << 30})
	call(asked, codes.Canceled, nil)
	call(asked, codes.Unavailable, nil)
	call(runtimeapi.RuntimeService_StopContainer_FullMethodName, codes.OK, nil, message(nil))
	call("/other/Method", codes.OK, []byte("?"), message([]byte("?")))
	call(runtimeapi.RuntimeService_GetContainerEvents_FullMethodName, codes.OK, nil, event, event)
	o.Ended(&relay.Call{ID: 99, Method: asked}) // one that was in flight before
	recorded := read(t, finish(t, o.Writer))
	var got []string
	for _, c := range recorded.calls {
		what := c.Method[strings.LastIndex(c.Method, "/")+1:]
		if c.Status != nil {
			what += " " + c.Status.Code().String()
		}
		got = append(got, what)
	}
	want := []string{"Version", "Version", "Version Unavailable", "GetContainerEvents", "GetContainerEvents", "GetContainerEvents OK"}
	if !slices.Equal(got, want) || o.Err() != nil || len(o.calls) > 0 {
		t.Errorf("%q, want %q; %v, %d in flight", got, want, o.Err(), len(o.calls))
	}
	if took := recorded.calls[0].Took; took != time.Second {
		t.Errorf("took %s", took)
	}
}
