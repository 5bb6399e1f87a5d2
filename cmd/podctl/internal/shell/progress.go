package shell

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
)

// Progress is what the last lines of a terminal show until it is stopped; they are redrawn,
// and then erased. Without a terminal there is none.
type Progress struct {
	end   chan struct{}
	shown sync.WaitGroup

	mu   sync.Mutex
	rows int // that are drawn
}

// progressPeriod is how often the lines are redrawn.
const progressPeriod = 200 * time.Millisecond

// StartProgress shows what text returns for the time so far: one or more lines, which are
// cut to the width of the terminal, as many as fit.
func StartProgress(e *Env, on bool, text func(took time.Duration) string) *Progress {
	p := &Progress{end: make(chan struct{})}
	if e.TTY && on {
		p.shown.Go(func() { p.show(e, text) })
	}
	return p
}

func (p *Progress) show(e *Env, text func(time.Duration) string) {
	w, begun := output.Raw(e.Out), e.Now()
	ticks := time.NewTicker(progressPeriod)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			width, height := e.Size()
			lines := strings.Split(text(e.Now().Sub(begun)), "\n")
			if height > 0 {
				lines = lines[:min(len(lines), height)]
			}
			for n := range lines {
				lines[n] = output.Cut(lines[n], width)
			}
			p.mu.Lock()
			fmt.Fprint(w, eraseRows(p.rows)+strings.Join(lines, "\n"))
			p.rows = len(lines)
			p.mu.Unlock()
		case <-p.end:
			p.above(w, func() {})
			return
		}
	}
}

// above erases the lines, and calls write before they are drawn again.
func (p *Progress) above(w io.Writer, write func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rows > 0 {
		fmt.Fprint(w, eraseRows(p.rows))
		p.rows = 0
	}
	write()
}

// eraseRows erases lines, the last of which has the cursor.
func eraseRows(rows int) string {
	if rows <= 1 {
		return "\r\x1b[K"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows-1)
}

// Stop erases the lines.
func (p *Progress) Stop() {
	close(p.end)
	p.shown.Wait()
}

// Steps are those of a command that may take long. Once it has taken stepsAfter, a terminal shows
// those in progress, and without one stderr has a line for each that ends and took some time.
type Steps struct {
	// Printed is true if the command itself prints what has ended, to Out.
	Printed bool

	env   *Env
	what  string
	begun time.Time
	drawn *Progress

	mu      sync.Mutex
	running []string
	ended   int
}

// stepsAfter is the time after which a user wonders whether a command does anything.
const stepsAfter = 2 * time.Second

// StartSteps begins the steps of what is done, until Stop.
func StartSteps(e *Env, what string) *Steps {
	s := &Steps{env: e, what: what, begun: e.Now()}
	s.drawn = StartProgress(e, true, s.text)
	return s
}

// Begin begins a step, which may be beside others, and returns what ends it.
func (s *Steps) Begin(name string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = append(s.running, name)
	begun := s.env.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended++
		s.running = slices.Delete(s.running, slices.Index(s.running, name), slices.Index(s.running, name)+1)
		now := s.env.Now()
		if took := now.Sub(begun).Round(100 * time.Millisecond); !s.env.TTY && !s.Printed && took > 0 && now.Sub(s.begun) >= stepsAfter {
			fmt.Fprintf(s.env.Errw, "%s: %s, %s\n", s.what, name, output.ShortTime(took))
		}
	}
}

// text is what a terminal shows.
func (s *Steps) text(took time.Duration) string {
	if took < stepsAfter {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s for %s, %s done: %s", s.what, output.Age(took), output.Plural(s.ended, "step"), strings.Join(s.running, ", "))
}

// Out returns the command's output, above what a terminal shows. Each write is of whole lines;
// it is safe for concurrent use.
func (s *Steps) Out() io.Writer { return stepsWriter{s} }

type stepsWriter struct{ *Steps }

func (w stepsWriter) Write(b []byte) (n int, err error) {
	w.drawn.above(output.Raw(w.env.Out), func() { n, err = w.env.Out.Write(b) })
	return n, err
}

// Stop erases what a terminal shows.
func (s *Steps) Stop() { s.drawn.Stop() }

// Terminal returns the terminal that a stream is, or that an Async writes to, nil if it
// is none.
func Terminal(s any) *os.File {
	if a, ok := s.(*output.Async); ok {
		s = a.Below()
	}
	if f, ok := s.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// TerminalSize returns the size of a terminal, 0 if it is unknown.
func TerminalSize(f *os.File) (columns, lines int) {
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// ToUser returns the writer for what a container or a node prints: bytes reach a
// file or pipe unchanged; on a terminal, control characters have no effect.
func ToUser(w io.Writer) io.Writer {
	if raw := output.Raw(w); Terminal(raw) == nil {
		return raw
	}
	return w
}

// Sizes receives the sizes of a terminal. It is closed after the last one.
type Sizes interface {
	Set(columns, lines int)
	Close()
}

// FollowSize passes the size of the terminal, now and after each change, until stop.
func FollowSize(sizes Sizes, size func() (columns, lines int)) (stop func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	ended := make(chan struct{})
	go func() {
		defer sizes.Close()
		for {
			sizes.Set(size())
			select {
			case <-changed:
			case <-ended:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(ended)
	}
}
