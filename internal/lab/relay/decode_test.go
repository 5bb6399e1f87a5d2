package relay

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

func TestParseTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"2S": 2 * time.Second, "1999996u": 1999996 * time.Microsecond, "120000m": 2 * time.Minute, "": 0, "S": 0, "x": 0, "999999999S": 0, "-1S": 0, "1y": 0,
	} {
		if got := parseTimeout(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// nobody is an Observer that keeps nothing.
type nobody struct{}

func (nobody) Began(*Call)                  {}
func (nobody) Message(*Call, Side, Message) {}
func (nobody) Ended(*Call)                  {}
func (nobody) Missed(Missed)                {}

// FuzzDecoder gives any bytes to a decoder: it may not understand them, and must not fail.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"), []byte("\x00\x00\x00\x04\x01\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, caller, runtime []byte) {
		d := newDecoder(Caller{}, nobody{}, func() uint64 { return 1 })
		_ = d.add(FromCaller, []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), time.Time{})
		for _, part := range [][]byte{caller[:len(caller)/2], caller[len(caller)/2:]} {
			if d.add(FromCaller, part, time.Time{}) != nil || d.add(FromRuntime, runtime, time.Time{}) != nil {
				break
			}
		}
		d.close(codes.Unavailable, "", time.Time{})
		if d.kept != 0 {
			t.Errorf("%d bytes are kept after the end", d.kept)
		}
	})
}
