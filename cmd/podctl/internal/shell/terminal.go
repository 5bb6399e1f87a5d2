package shell

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
)

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
