package look

import (
	"bufio"
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri/logs"
)

var printedAt = time.Date(2026, 1, 2, 15, 4, 5, 6000, time.UTC)

func whole(text string) logs.Line {
	return logs.Line{Time: printedAt, Text: []byte(text), Begins: true, Ends: true}
}

func piece(text string, begins, ends bool) logs.Line {
	return logs.Line{Time: printedAt, Text: []byte(text), Begins: begins, Ends: ends}
}

func TestLogPrinter(t *testing.T) {
	const hostile = "\x1b[2J\x1b[31mred\xff\r"
	for _, c := range []struct {
		name    string
		printer logPrinter
		print   func(p *logPrinter, a, b *logSource)
		want    string
	}{
		{"a pipe gets the bytes unchanged", logPrinter{}, func(p *logPrinter, a, _ *logSource) {
			_ = p.line(a, whole(hostile))
		}, hostile + "\n"},
		{"on a terminal, only colors have an effect", logPrinter{terminal: true, color: true}, func(p *logPrinter, a, _ *logSource) {
			_ = p.line(a, whole(hostile))
		}, "�[2J\x1b[31mred�\x1b[0m\n"},
		{"without colors, they are removed", logPrinter{terminal: true}, func(p *logPrinter, a, _ *logSource) {
			_ = p.line(a, whole(hostile))
		}, "�[2Jred�\n"},
		{"a name and a time", logPrinter{prefix: true, timestamps: true}, func(p *logPrinter, a, b *logSource) {
			b.color = "\x1b[36m"
			_ = p.line(a, whole("one"))
			_ = p.line(b, whole("two"))
		}, "default/a/c | 2026-01-02T15:04:05.000006000Z one\n\x1b[36mdefault/b/c\x1b[0m | 2026-01-02T15:04:05.000006000Z two\n"},
		{"pieces of a line are one line", logPrinter{prefix: true, timestamps: true}, func(p *logPrinter, a, _ *logSource) {
			_ = p.line(a, piece("o", true, false))
			_ = p.line(a, piece("n", false, false))
			_ = p.line(a, piece("e", false, true))
		}, "default/a/c | 2026-01-02T15:04:05.000006000Z one\n"},
		{"another line does not continue an open one", logPrinter{prefix: true}, func(p *logPrinter, a, b *logSource) {
			_ = p.line(a, piece("first ", true, false))
			_ = p.line(b, whole("two"))
			_ = p.line(a, piece("half", false, true))
		}, "default/a/c | first \ndefault/b/c | two\ndefault/a/c | half\n"},
		{"a prompt in a pipe gets no line end", logPrinter{}, func(p *logPrinter, a, _ *logSource) {
			_ = p.line(a, piece("password: ", true, false))
		}, "password: "},
		{"a prompt on a terminal gets one", logPrinter{terminal: true}, func(p *logPrinter, a, _ *logSource) {
			_ = p.line(a, piece("password: ", true, false))
		}, "password: \n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			p := c.printer
			p.w = bufio.NewWriter(&out)
			c.print(&p, &logSource{name: "default/a/c", left: -1}, &logSource{name: "default/b/c", left: -1})
			if err := p.finish(); err != nil || out.String() != c.want {
				t.Errorf("%q, %v, want %q", out.String(), err, c.want)
			}
		})
	}
}

func TestLimitCountsTheBytesOfEachContainer(t *testing.T) {
	for limit, want := range map[int64]string{1: "o", 3: "one", 4: "one\n", 6: "one\ntw", 8: "one\ntwo\n", 100: "one\ntwo\nthree\n"} {
		var out bytes.Buffer
		p := &logPrinter{w: bufio.NewWriter(&out)}
		s := &logSource{left: limit}
		for _, text := range []string{"one", "two", "three"} {
			if err := p.line(s, whole(text)); err != nil {
				if !errors.Is(err, logs.ErrEnough) {
					t.Error(err)
				}
				break
			}
		}
		if err := p.finish(); err != nil || out.String() != want {
			t.Errorf("limit %d: %q, want %q", limit, out.String(), want)
		}
	}
}
