package relay

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
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

// discardObserver is an Observer that keeps nothing.
type discardObserver struct{}

func (discardObserver) Began(*Call)                  {}
func (discardObserver) Message(*Call, Side, Message) {}
func (discardObserver) Ended(*Call)                  {}
func (discardObserver) Missed(Missed)                {}

// FuzzDecoder gives any bytes to a decoder: it may not understand them, and must not fail.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"), []byte("\x00\x00\x00\x04\x01\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, caller, runtime []byte) {
		d := newDecoder(Caller{}, discardObserver{}, func() uint64 { return 1 })
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

// A header may come a million times in a block of a megabyte, and be long.
func TestTextOfAStatusIsReadOnceAndCut(t *testing.T) {
	long := strings.Repeat("%41", maxHeader/3)
	fields := slices.Repeat([]hpack.HeaderField{{Name: "grpc-status", Value: "5"}, {Name: "grpc-message", Value: long}}, maxHeaderBlock)
	if code, text := statusOf(fields); code != codes.NotFound || len(text) > maxStatus || !strings.HasPrefix(text, "AAA") && !strings.HasPrefix(text, "%41") {
		t.Errorf("%s: %d bytes", code, len(text))
	}
	if code, text := statusOf([]hpack.HeaderField{{Name: "grpc-status", Value: "5"}, {Name: "grpc-message", Value: "no%20pod"}}); code != codes.NotFound || text != "no pod" {
		t.Errorf("%s: %q", code, text)
	}
}
