package look

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/pods/target"
)

// logSource is one container whose log is printed.
type logSource struct {
	// name is NAMESPACE/POD/CONTAINER.
	name string
	// color is that of its prefix, "" for none.
	color string
	// left is how many bytes of it may still be printed, negative for no limit.
	left int64
}

// logPrinter prints lines of containers.
type logPrinter struct {
	w *bufio.Writer
	// terminal: control characters of a container must have no effect.
	terminal, color    bool
	timestamps, prefix bool
	// limit is how many bytes of each container are printed, negative for all.
	limit int64
	// sources is the number of containers so far.
	sources int
	// open is whose line is printed without its end, nil for none's.
	open   *logSource
	stream logs.Stream
	buf    []byte
}

// timestampFormat is that of kubectl logs --timestamps.
const timestampFormat = "2006-01-02T15:04:05.000000000Z07:00"

// prefixColors are those of the prefixes of several containers.
var prefixColors = []string{"\x1b[36m", "\x1b[32m", "\x1b[35m", "\x1b[34m", "\x1b[33m", "\x1b[96m", "\x1b[92m", "\x1b[95m", "\x1b[94m"}

func newLogPrinter(e *shell.Env, o logsOptions) *logPrinter {
	return &logPrinter{
		w:        bufio.NewWriterSize(output.Raw(e.Out), 64<<10),
		terminal: e.TTY, color: e.TTY && !e.NoColor && !o.NoColor,
		timestamps: o.timestamps, prefix: o.prefix == always, limit: o.limit,
	}
}

// source returns what line is called with for a container.
func (p *logPrinter) source(t target.Target) any {
	s := &logSource{name: t.DisplayName(), left: p.limit}
	if p.color {
		s.color = prefixColors[p.sources%len(prefixColors)]
	}
	p.sources++
	return s
}

// line prints a line, or a piece of one. logs.ErrEnough: the limit is reached.
func (p *logPrinter) line(of any, l logs.Line) error {
	s := of.(*logSource)
	continues := p.open == s && p.stream == l.Stream && !l.Begins
	if p.open != nil && !continues {
		if err := p.w.WriteByte('\n'); err != nil {
			return err
		}
	}
	p.open = nil
	if !continues && p.prefix {
		p.writePrefix(s)
	}
	p.buf = p.buf[:0]
	if !continues && p.timestamps {
		p.buf = append(l.Time.AppendFormat(p.buf, timestampFormat), ' ')
	}
	text := l.Text
	if len(p.buf) > 0 {
		p.buf = append(p.buf, text...)
		text = p.buf
	}
	return p.limited(s, l, text)
}

// limited prints a text as far as the limit allows, which counts what the
// container wrote and its time.
func (p *logPrinter) limited(s *logSource, l logs.Line, text []byte) error {
	size := int64(len(text))
	if l.Ends {
		size++
	}
	ends := l.Ends && (s.left < 0 || size <= s.left)
	if s.left >= 0 {
		text = text[:min(int64(len(text)), s.left)]
	}
	if p.terminal {
		if l.Ends {
			text = bytes.TrimSuffix(text, []byte("\r")) // a line end of Windows
		}
		text = output.TerminalText(text, p.color)
	}
	if _, err := p.w.Write(text); err != nil {
		return err
	}
	if !ends {
		p.open, p.stream = s, l.Stream
	} else if err := p.w.WriteByte('\n'); err != nil {
		return err
	}
	if s.left >= 0 {
		if s.left = max(0, s.left-size); s.left == 0 {
			return logs.ErrEnough
		}
	}
	return nil
}

func (p *logPrinter) writePrefix(s *logSource) {
	var text strings.Builder
	if s.color != "" {
		text.WriteString(s.color)
	}
	text.WriteString(output.OneLine(s.name))
	if s.color != "" {
		text.WriteString(output.Plain)
	}
	text.WriteString(" | ")
	_, _ = p.w.WriteString(text.String()) // a bufio.Writer returns its error again
}

// finish ends a last line without an end where more than the container's bytes
// are printed anyway.
func (p *logPrinter) finish() error {
	if p.open != nil && (p.terminal || p.prefix) {
		_ = p.w.WriteByte('\n') // Flush returns the error
	}
	p.open = nil
	return p.w.Flush()
}
