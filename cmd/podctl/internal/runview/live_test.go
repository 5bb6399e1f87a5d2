package runview

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod/event"
)

// terminal is what a person sees of what is written to it: a screen of a width
// and a height. It knows what the live printer uses, and panics at all else.
type terminal struct {
	width, height int
	lines         []string // all that ever was on the screen; the last ones are on it
	row, col      int      // of the cursor, in lines
	wrapped       bool
	writes        int
}

func (s *terminal) Write(b []byte) (int, error) {
	s.writes++
	for text := string(b); text != ""; {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			s.lines, n = append(s.lines[:s.row:s.row], s.lines[s.row][:s.col]), 3
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text, "Am")
			if n = end + 1; text[end] == 'A' {
				up, err := strconv.Atoi(text[2:end])
				if err != nil {
					panic(err)
				}
				// The cursor stops at the top of the screen.
				s.row = max(s.row-up, len(s.lines)-s.height, 0)
			}
		case r == '\r':
			s.col = 0
		case r == '\n':
			s.row, s.col = s.row+1, 0
			if s.row == len(s.lines) {
				s.lines = append(s.lines, "")
			}
		default:
			s.put(r)
		}
		text = text[n:]
	}
	return len(b), nil
}

func (s *terminal) put(r rune) {
	if r == 0x1b {
		panic("unknown escape sequence")
	}
	line := []rune(s.lines[s.row])
	if s.width > 0 && len(line) == s.width {
		s.wrapped = true
	}
	s.lines[s.row] = string(append(line[:min(s.col, len(line))], r))
	s.col++
}

func (s *terminal) String() string { return strings.TrimRight(strings.Join(s.lines, "\n"), "\n") }

func newTerminal(width, height int, color bool) (*terminal, *livePrinter) {
	s := &terminal{width: width, height: height, lines: []string{""}}
	e := Screen{Out: s, Color: color, Size: func() (int, int) { return s.width, s.height }, Now: func() time.Time { return noon }}
	return s, newLivePrinter(e)
}

func TestTableIsRedrawnInPlace(t *testing.T) {
	s, p := newTerminal(100, 24, false)
	p.Note("default/web: restartPolicy Always, runs until Ctrl-C")
	p.Refresh([]node.Info{web(func(i *node.Info) { i.Status = v1.PodStatus{} })})
	p.Event(at(0, event.Event{Reason: event.Pulling, Image: &event.Image{Name: "busybox:1"}}))
	p.Refresh([]node.Info{web(func(i *node.Info) { i.Status.ContainerStatuses = nil })})
	p.Log(LogLine{Namespace: "default", Pod: "web", Container: "web", Text: []byte("hello \x1b[2J")})
	p.Event(at(0, event.Event{Reason: event.Started, Container: "web"}))
	p.Finish([]node.Info{web(nil)})
	want := `default/web: restartPolicy Always, runs until Ctrl-C
default/web/web | hello �[2J
POD          STATUS   READY  RESTARTS  AGE  NOW
default/web  Running  2/3    0         41s`
	if s.String() != want {
		t.Errorf("the screen shows\n%s\nwant\n%s", s, want)
	}
}

func TestActivityIsShownUntilItEnds(t *testing.T) {
	s, p := newTerminal(100, 24, false)
	creating := []node.Info{web(func(i *node.Info) { i.Status.ContainerStatuses = nil })}
	p.Event(at(0, event.Event{Reason: event.Pulling, Image: &event.Image{Name: "busybox:1"}}))
	p.Refresh(creating)
	if !strings.HasSuffix(s.String(), "41s  pulling busybox:1") {
		t.Errorf("while it pulls:\n%s", s)
	}
	p.Event(at(0, event.Event{Reason: event.Pulled}))
	p.Refresh(creating)
	if strings.Contains(s.String(), "pulling") {
		t.Errorf("after that:\n%s", s)
	}
}

func TestUnchangedTableIsNotRedrawn(t *testing.T) {
	s, p := newTerminal(100, 24, false)
	p.Refresh([]node.Info{web(nil)})
	before := s.writes
	p.Refresh([]node.Info{web(nil)})
	if s.writes != before {
		t.Error("drawn again")
	}
}

func TestTableLinesNeverWrap(t *testing.T) {
	long := web(func(i *node.Info) { i.LastError.Text = strings.Repeat("network is not ready ", 20) })
	for width := 1; width < 120; width++ {
		s, p := newTerminal(width, 24, true)
		p.Refresh([]node.Info{long, long})
		p.Refresh([]node.Info{long})
		if s.wrapped || len(s.lines) != 3 {
			t.Fatalf("at width %d:\n%s", width, s)
		}
	}
}

func TestCutLineEndsWithEllipsis(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"longer", 1, "…"}, {"longer", 0, "longer"},
		{"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"},
	} {
		if got := output.Cut(c.line, c.width); got != c.want {
			t.Errorf("cut %q to %d: %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

func TestEchoedInterruptDoesNotMoveTable(t *testing.T) {
	s, p := newTerminal(100, 24, false)
	p.Refresh([]node.Info{web(nil)})
	fmt.Fprint(s, "^C")
	p.Note("terminating 1 pod, up to 30s · Ctrl-C again to force")
	want := `terminating 1 pod, up to 30s · Ctrl-C again to force
POD          STATUS   READY  RESTARTS  AGE  NOW
default/web  Running  2/3    0         41s`
	if s.String() != want {
		t.Errorf("the screen shows\n%s\nwant\n%s", s, want)
	}
}

func TestTableCountsPodsThatDoNotFit(t *testing.T) {
	s, p := newTerminal(100, 6, false)
	var many []node.Info
	for n := range 10 {
		many = append(many, web(func(i *node.Info) { i.Pod.Name = fmt.Sprint("web-", n) }))
	}
	p.Refresh(many)
	many[0].LastError.Text = "one changes"
	p.Refresh(many)
	if got := strings.Count(s.String(), "POD "); got != 1 || !strings.HasSuffix(s.String(), "\nand 7 pods more") {
		t.Errorf("the screen shows\n%s", s)
	}
	p.Finish(many)
	if got := strings.Count(s.String(), "\n"); got != 10 || !strings.Contains(s.String(), "default/web-9") {
		t.Errorf("at the end it shows\n%s", s)
	}
}

func TestColorIsNeverTheOnlySign(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*node.Info)
		color  string
	}{
		{"running", nil, ""},
		{"failed", func(i *node.Info) { i.Status.Phase = v1.PodFailed }, output.Red},
		{"rejected", func(i *node.Info) { i.Rejected = errors.New("taken") }, output.Red},
		{"waiting", func(i *node.Info) { setContainers(i, waits("web", "ErrImagePull", "x")) }, output.Yellow},
	} {
		t.Run(c.name, func(t *testing.T) {
			drawn := map[bool]string{}
			for _, color := range []bool{false, true} {
				var out bytes.Buffer
				_, p := newTerminal(100, 24, color)
				p.screen.Out = &out
				p.Refresh([]node.Info{web(c.change)})
				drawn[color] = out.String()
			}
			if strings.Contains(drawn[false], "\x1b") {
				t.Errorf("without colours: %q", drawn[false])
			}
			stripped := strings.NewReplacer(output.Red, "", output.Yellow, "", output.Plain, "").Replace(drawn[true])
			if stripped != drawn[false] || c.color != "" && !strings.Contains(drawn[true], "\n"+c.color) || c.color == "" && stripped != drawn[true] {
				t.Errorf("with colours: %q", drawn[true])
			}
		})
	}
}
