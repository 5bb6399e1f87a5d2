package output

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podctl/podctl/internal/sys/plural"
)

// replacement stands for a character that a terminal would not print.
const replacement = '�'

// Printable returns text without characters that a terminal could take for
// commands. Line ends are replaced, too.
func Printable[T string | []byte](text T) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return replacement
	}, string(text))
}

// OneLine returns text, which may come from a runtime or a container, as it
// can stand in one line of a terminal. A colon with nothing after it is
// removed: a probe may fail without a text.
func OneLine(text string) string {
	return Printable(lineEnds.Replace(strings.TrimSpace(strings.TrimSuffix(text, ": "))))
}

// lineEnds is made once: that takes longer than its use.
var lineEnds = strings.NewReplacer("\n", "; ", "\t", " ")

// Writer replaces control characters in what is written to it, line ends and
// tabs apart. It is for text that a person reads.
type Writer struct {
	w io.Writer
	// partial is the beginning of a character that a Write cut.
	partial []byte
}

// NewWriter returns a Writer to w; w itself if it is one.
func NewWriter(w io.Writer) *Writer {
	if escaping, ok := w.(*Writer); ok {
		return escaping
	}
	return &Writer{w: w}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	text := append(w.partial, p...)
	whole := len(text) - incomplete(text)
	w.partial = append([]byte(nil), text[whole:]...)
	clean := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return replacement
	}, string(text[:whole]))
	if _, err := io.WriteString(w.w, clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

// incomplete is the length of the cut character at the end of text.
func incomplete(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Raw returns the writer below a Writer, and any other as it is: for data
// formats and for control sequences of podctl's own.
func Raw(w io.Writer) io.Writer {
	if escaping, ok := w.(*Writer); ok {
		return escaping.w
	}
	return w
}

// Plural is "1 pod" or "3 pods".
func Plural(n int, noun string) string { return plural.Of(n, noun) }

// Clock is the time of day, in milliseconds.
func Clock(t time.Time) string { return t.Format("15:04:05.000") }

// ShortTime is a duration in about three digits, for a column or a sentence.
func ShortTime(d time.Duration) string {
	switch {
	case d < 0:
		return Age(min(d, -2*time.Second))
	case d == 0:
		return "0ms"
	case d < time.Millisecond:
		return "<1ms"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.3gms", float64(d)/float64(time.Millisecond))
	case d.Round(time.Millisecond) < time.Second:
		return fmt.Sprintf("%dms", d.Round(time.Millisecond).Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.3gs", d.Seconds())
	}
	return Age(d)
}

// Age formats a duration as kubectl does in tables: <invalid> if it is negative, as after a clock
// was set back.
func Age(d time.Duration) string { return duration.HumanDuration(d) }

// Since formats the time since a moment, - without one. The moment is in the future if the
// clock was set back: then that is not known.
func Since(now, moment time.Time) string {
	switch d := now.Sub(moment); {
	case moment.IsZero():
		return "-"
	case d <= -2*time.Second:
		return "unknown"
	default:
		return Age(max(d, 0))
	}
}
