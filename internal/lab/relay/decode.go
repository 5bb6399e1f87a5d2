package relay

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
)

const (
	frameHeaderSize = 9
	// maxHeader bounds one header of a call; gRPC's own limit of all of them is 16 MiB at
	// most, and 8 KiB in practice.
	maxHeader = 1 << 20
	// maxHeaderBlock bounds the compressed headers of a call, and maxTable the table that
	// decompresses them.
	maxHeaderBlock = 1 << 20
	maxTable       = 1 << 20
	// maxStatus is how much of the text of a status is kept.
	maxStatus = 16 << 10
	// maxEarly bounds what a runtime may send before the caller has.
	maxEarly = 64 << 10
	// maxCalls bounds the calls in flight on one connection.
	maxCalls = 1 << 16
)

// errNotHTTP2 is the error of a connection that does not begin as one of HTTP/2.
var errNotHTTP2 = errors.New("it is not HTTP/2")

// decoder decodes one connection. It has no goroutine and no clock: the time of each chunk
// comes with it.
type decoder struct {
	caller   Caller
	observer Observer
	nextID   func() uint64

	preface int // bytes of the client's preface that were read
	sides   [2]direction
	calls   map[uint32]*Call // in flight, by stream
	kept    int              // bytes of incomplete messages
}

// direction is what the decoder knows of one direction.
type direction struct {
	buffered []byte
	framer   *http2.Framer
	frame    *bytes.Reader // what framer reads
	hpack    *hpack.Decoder
	// block are the compressed headers of a stream, endStream its flag, while CONTINUATION
	// frames are to come.
	block     []byte
	blockOf   uint32
	endStream bool
}

func newDecoder(caller Caller, observer Observer, nextID func() uint64) *decoder {
	d := &decoder{caller: caller, observer: observer, nextID: nextID, calls: map[uint32]*Call{}}
	for i := range d.sides {
		side := &d.sides[i]
		side.hpack = hpack.NewDecoder(4096, nil)
		side.hpack.SetMaxStringLength(maxHeader)
		side.frame = bytes.NewReader(nil)
		side.framer = http2.NewFramer(nil, side.frame)
		side.framer.SetMaxReadFrameSize(1<<24 - 1)
		side.framer.SetReuseFrames()
		side.framer.AllowIllegalReads = true // the order of frames is checked here
	}
	return d
}

// isHTTP2 reports whether the connection began as one of HTTP/2.
func (d *decoder) isHTTP2() bool { return d.preface == len(http2.ClientPreface) }

// add takes bytes of one direction. After an error the connection cannot be decoded any
// more.
func (d *decoder) add(from Side, data []byte, at time.Time) error {
	if from == FromCaller && !d.isHTTP2() {
		n := min(len(data), len(http2.ClientPreface)-d.preface)
		if string(data[:n]) != http2.ClientPreface[d.preface:d.preface+n] {
			return errNotHTTP2
		}
		d.preface += n
		data = data[n:]
	}
	d.sides[from].buffered = append(d.sides[from].buffered, data...)
	if !d.isHTTP2() { // a runtime may speak first
		if len(d.sides[FromRuntime].buffered) > maxEarly {
			return errNotHTTP2
		}
		return nil
	}
	for _, side := range []Side{FromCaller, FromRuntime} {
		if err := d.readFrames(side, at); err != nil {
			return err
		}
	}
	return nil
}

// readFrames reads the whole frames of one direction.
func (d *decoder) readFrames(from Side, at time.Time) error {
	side := &d.sides[from]
	used := 0
	for {
		rest := side.buffered[used:]
		if len(rest) < frameHeaderSize {
			break
		}
		size := frameHeaderSize + (int(rest[0])<<16 | int(rest[1])<<8 | int(rest[2]))
		if len(rest) < size {
			break
		}
		if err := d.readFrame(from, rest[:size], at); err != nil {
			return err
		}
		used += size
	}
	side.buffered = append(side.buffered[:0], side.buffered[used:]...)
	if len(side.buffered) == 0 && cap(side.buffered) > 1<<20 {
		side.buffered = nil
	}
	return nil
}

// readFrame reads one whole frame.
func (d *decoder) readFrame(from Side, raw []byte, at time.Time) error {
	side := &d.sides[from]
	side.frame.Reset(raw)
	frame, err := side.framer.ReadFrame()
	if err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	if _, continued := frame.(*http2.ContinuationFrame); continued != (side.blockOf != 0) {
		return errors.New("headers are interrupted")
	}
	switch f := frame.(type) {
	case *http2.HeadersFrame:
		side.blockOf, side.endStream = f.StreamID, f.StreamEnded()
		return d.addHeaderBlock(from, f.HeaderBlockFragment(), f.HeadersEnded(), at)
	case *http2.ContinuationFrame:
		if f.StreamID != side.blockOf {
			return errors.New("headers are interrupted")
		}
		return d.addHeaderBlock(from, f.HeaderBlockFragment(), f.HeadersEnded(), at)
	case *http2.PushPromiseFrame:
		return errors.New("the runtime pushes")
	case *http2.DataFrame:
		d.addData(from, f, at)
	case *http2.RSTStreamFrame:
		if c := d.calls[f.StreamID]; c != nil {
			c.Code, c.Status = resetCode(from, f.ErrCode, c, at)
			d.endCall(f.StreamID, c, at)
		}
	case *http2.SettingsFrame:
		if size, ok := f.Value(http2.SettingHeaderTableSize); ok && !f.IsAck() {
			// It is the limit of what the other side may use.
			d.sides[1-from].hpack.SetAllowedMaxDynamicTableSize(min(size, maxTable))
		}
	}
	return nil
}

// addHeaderBlock takes a fragment of headers, and reads them once they are complete.
func (d *decoder) addHeaderBlock(from Side, fragment []byte, ended bool, at time.Time) error {
	side := &d.sides[from]
	if len(side.block)+len(fragment) > maxHeaderBlock {
		return errors.New("headers are too large")
	}
	side.block = append(side.block, fragment...)
	if !ended {
		return nil
	}
	fields, err := side.hpack.DecodeFull(side.block)
	if err != nil {
		return fmt.Errorf("read headers: %w", err)
	}
	stream := side.blockOf
	side.block, side.blockOf = side.block[:0], 0
	if from == FromCaller {
		return d.beginCall(stream, fields, at)
	}
	if c := d.calls[stream]; c != nil && side.endStream {
		c.Code, c.Status = statusOf(fields)
		d.endCall(stream, c, at)
	}
	return nil
}

// beginCall adds the call of a stream. Headers of a stream that has a call already are ignored:
// gRPC has none.
func (d *decoder) beginCall(stream uint32, fields []hpack.HeaderField, at time.Time) error {
	if d.calls[stream] != nil {
		return nil
	}
	if len(d.calls) == maxCalls {
		return fmt.Errorf("%d calls are in flight", maxCalls)
	}
	c := &Call{ID: d.nextID(), Caller: d.caller, Start: at}
	for _, f := range fields {
		switch f.Name {
		case ":path":
			c.Method = f.Value
		case "grpc-timeout":
			c.Timeout = parseTimeout(f.Value)
		}
	}
	d.calls[stream] = c
	d.observer.Began(c)
	return nil
}

func (d *decoder) addData(from Side, f *http2.DataFrame, at time.Time) {
	c := d.calls[f.StreamID]
	if c == nil {
		return
	}
	messages, count := &c.request, &c.Requests
	if from == FromRuntime {
		messages, count = &c.response, &c.Responses
	}
	messages.add(f.Data(), &d.kept, func(m Message) {
		*count++
		d.observer.Message(c, from, m)
	})
	if from == FromRuntime && f.StreamEnded() {
		c.Code, c.Status = codes.Internal, "the runtime ended the call without a status"
		d.endCall(f.StreamID, c, at)
	}
}

func (d *decoder) endCall(stream uint32, c *Call, at time.Time) {
	delete(d.calls, stream)
	d.kept -= c.request.kept() + c.response.kept()
	c.End = at
	d.observer.Ended(c)
}

// close ends the calls in flight: the connection is closed, or not decoded any more.
func (d *decoder) close(code codes.Code, status string, at time.Time) {
	for stream, c := range d.calls {
		c.Code, c.Status = code, status
		d.endCall(stream, c, at)
	}
}

// statusOf reads the trailers of a call.
func statusOf(fields []hpack.HeaderField) (codes.Code, string) {
	code, text, http := codes.Unknown, "", ""
	found := false
	for _, f := range fields {
		switch f.Name {
		case "grpc-status":
			if n, err := strconv.ParseUint(f.Value, 10, 32); err == nil {
				code, found = codes.Code(n), true
			}
		case "grpc-message":
			text = f.Value
		case ":status":
			http = f.Value
		}
	}
	if !found {
		return code, strings.TrimSpace("no gRPC status, HTTP " + http)
	}
	return code, unescape(text[:min(len(text), maxStatus)])
}

// unescape reads the percent-encoding of gRPC's messages.
func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// deadlineSlack is how long before its deadline, as the relay sees it, a caller may end a
// call because of it: the deadline was counted from before the call reached the relay.
const deadlineSlack = 5 * time.Millisecond

// resetCode returns the code and the status that the caller of a reset call sees.
func resetCode(from Side, code http2.ErrCode, c *Call, at time.Time) (codes.Code, string) {
	switch {
	case (from == FromCaller || code == http2.ErrCodeCancel) && c.Timeout > 0 && at.Sub(c.Start) >= c.Timeout-deadlineSlack:
		return codes.DeadlineExceeded, "the caller's deadline of " + c.Timeout.String()
	case from == FromCaller:
		return codes.Canceled, "by the caller"
	case code == http2.ErrCodeCancel:
		return codes.Canceled, "reset by the runtime"
	case code == http2.ErrCodeRefusedStream:
		return codes.Unavailable, "refused by the runtime"
	}
	return codes.Internal, "reset by the runtime: " + code.String()
}

// timeoutUnits are those of the header grpc-timeout.
var timeoutUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

// parseTimeout parses the header grpc-timeout, such as 1999996u; it returns 0 for any other text.
func parseTimeout(text string) time.Duration {
	if len(text) < 2 || len(text) > 9 {
		return 0
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	unit := timeoutUnits[text[len(text)-1]]
	if err != nil || unit == 0 {
		return 0
	}
	return time.Duration(n) * unit
}
