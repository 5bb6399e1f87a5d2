package tape

import (
	"errors"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podctl/podctl/internal/lab/relay"
)

// Observer adds the calls that a relay sees to a tape. It is safe for concurrent use.
type Observer struct {
	Writer *Writer
	Now    func() time.Time

	mu    sync.Mutex
	calls map[uint64]*callInFlight
	err   error
}

var _ relay.Observer = (*Observer)(nil)

// callInFlight is a call in flight.
type callInFlight struct {
	request, response []byte
	answered          bool
	// lost reports whether a message was not kept: the call is not recorded.
	lost bool
}

// Err returns ErrFull if the tape became full: later calls are not on it. It returns nil otherwise.
func (o *Observer) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Began implements relay.Observer.
func (o *Observer) Began(c *relay.Call) {
	if m, known := methods()[path.Base(c.Method)]; !known || m.full != c.Method {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls == nil {
		o.calls = map[uint64]*callInFlight{}
	}
	o.calls[c.ID] = &callInFlight{}
}

// Message implements relay.Observer.
func (o *Observer) Message(c *relay.Call, from relay.Side, m relay.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.calls[c.ID]
	switch {
	case seen == nil:
	case m.Size != 0 && m.Data == nil:
		seen.lost = true
	case from == relay.FromCaller:
		seen.request = m.Data
	case path.Base(c.Method) == eventsCall:
		o.add(Call{Method: c.Method, Request: seen.request, Response: m.Data, At: o.Now()})
	default:
		seen.response, seen.answered = m.Data, true
	}
}

// Ended implements relay.Observer.
func (o *Observer) Ended(c *relay.Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.calls[c.ID]
	delete(o.calls, c.ID)
	isStream := path.Base(c.Method) == eventsCall
	switch {
	case seen == nil, seen.lost, c.Code == codes.Canceled: // by the caller: the runtime did not answer
	case c.Code != codes.OK, isStream:
		o.add(Call{Method: c.Method, Request: seen.request, Status: status.New(c.Code, c.Status), At: c.End, Took: c.End.Sub(c.Start)})
	case seen.answered:
		o.add(Call{Method: c.Method, Request: seen.request, Response: seen.response, At: c.End, Took: c.End.Sub(c.Start)})
	}
}

// Missed implements relay.Observer: what was not seen is not on the tape.
func (o *Observer) Missed(relay.Missed) {}

// add adds a call; a message that the CRI does not have is left out. o.mu is held.
func (o *Observer) add(c Call) {
	if err := o.Writer.Add(c); errors.Is(err, ErrFull) {
		o.err = err
	}
}
