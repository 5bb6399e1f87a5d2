package logs

import (
	"testing"
	"time"
)

func TestParseRecord(t *testing.T) {
	for _, c := range []struct {
		in, text string
		stream   Stream
		partial  bool
	}{
		{"2026-01-02T15:04:05.123456789Z stdout F hello world", "hello world", Stdout, false},
		{"2026-01-02T15:04:05+02:00 stderr P half ", "half ", Stderr, true},
		{"2026-01-02T15:04:05Z stdout F ", "", Stdout, false},
		{"2026-01-02T15:04:05Z stdout P:more:tags x", "x", Stdout, true},
		{"2026-01-02T15:04:05Z stdout F \x00\xff\x1b[2J", "\x00\xff\x1b[2J", Stdout, false},
	} {
		var r record
		err := parseRecord(&r, []byte(c.in))
		if err != nil || r.stream != c.stream || string(r.text) != c.text || r.partial != c.partial || r.time.Year() != 2026 {
			t.Errorf("%q: %+v, %v", c.in, r, err)
		}
	}
	for _, in := range []string{
		"", "hello", "2026-01-02T15:04:05Z stdout F", "yesterday-and-the-day-before stdout F x", "2026-01-02T15:04:05Z stdin F x",
		"2026-01-02T15:04:05Z stdout Q x", "2026-01-02T15:04:05Z stdout Fx y", "2026-01-02T15:04:05Z stdout F:", "{}", "{",
	} {
		var r record
		if err := parseRecord(&r, []byte(in)); err == nil {
			t.Errorf("%q: %+v, want an error", in, r)
		}
	}
}

// FuzzParseRecord: what is accepted can be written and read again.
func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(stamp + "stdout F hello"))
	f.Add([]byte(stamp + "stderr P:x "))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r, again record
		err := parseRecord(&r, raw)
		if err != nil {
			return
		}
		tag := map[bool]string{true: "P", false: "F"}[r.partial]
		err = parseRecord(&again, []byte(r.time.Format(time.RFC3339Nano)+" "+r.stream.String()+" "+tag+" "+string(r.text)))
		if err != nil || !again.time.Equal(r.time) || again.stream != r.stream || again.partial != r.partial || string(again.text) != string(r.text) {
			t.Errorf("%q: %+v became %+v, %v", raw, r, again, err)
		}
	})
}
