package relay

import "testing"

func TestBoundaryOfFrames(t *testing.T) {
	settings, headers, continuation := "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00\x02\x01\x00\x00\x00\x00\x01ab", "\x00\x00\x01\x09\x04\x00\x00\x00\x01c"
	data := "\x00\x00\x03\x00\x00\x00\x00\x00\x01abc"
	for name, c := range map[string]struct {
		bytes string
		want  bool
	}{
		"nothing yet":           {"", false},
		"settings":              {settings, true},
		"part of a header":      {settings + data[:5], false},
		"part of a frame":       {settings + data[:11], false},
		"a frame":               {settings + data, true},
		"headers that continue": {settings + headers, false},
		"headers that end":      {settings + headers + continuation, true},
		"not HTTP/2":            {"HTTP/1.1 200 OK\r\n\r\n", false},
	} {
		var whole, single boundary
		whole.advance([]byte(c.bytes))
		for _, b := range []byte(c.bytes) {
			single.advance([]byte{b})
		}
		if whole.atFrameEnd() != c.want || single.atFrameEnd() != c.want {
			t.Errorf("%s: %v, byte by byte %v", name, whole.atFrameEnd(), single.atFrameEnd())
		}
	}
}
