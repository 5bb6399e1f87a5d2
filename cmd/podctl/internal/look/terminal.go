package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/pods/target"
)

// streamOptions are the options of exec and attach.
type streamOptions struct {
	stdin, tty, quiet bool
	detachKeys        []byte
	detachNames       string // as they were given
}

// localStreams are the streams of this process as a session of exec or attach uses
// them.
type localStreams struct {
	e *shell.Env
	s *target.Session
	o streamOptions
	// input is the terminal that is typed on, nil if stdin is none.
	input *os.File
	// containerTTY: the container writes to a terminal of its own, also without
	// --tty here.
	containerTTY bool
	// inputDelay is how long input waits after the streams are open.
	inputDelay time.Duration
	// keepInput: the end of the input is not passed on.
	keepInput bool
	// stderr gets a copy of the container's errors; may be nil.
	stderr io.Writer
}

// newLocalStreams decides what of the options is possible: a container's terminal
// needs one here.
func newLocalStreams(e *shell.Env, s *target.Session, o streamOptions) *localStreams {
	l := &localStreams{e: e, s: s, o: o, input: shell.Terminal(e.In)}
	if !o.tty {
		return l
	}
	if o.stdin && l.input == nil || !o.stdin && !e.TTY {
		which := "output"
		if o.stdin {
			which = "input"
		}
		l.note("warning: --tty has no effect: standard %s is not a terminal", which)
		l.o.tty = false
	}
	return l
}

// note tells the user what is neither output nor an error.
func (l *localStreams) note(format string, args ...any) {
	if !l.o.quiet {
		fmt.Fprintf(l.e.Errw, format+"\n", args...)
	}
}

// run connects the streams to a URL of the runtime until the session, or ctx,
// ends. redraw: a program that already runs draws its screen again. While it
// runs, a terminal that is typed on passes every key to the container.
func (l *localStreams) run(ctx context.Context, url string, redraw bool) error {
	s := stream.Session{URL: url, TTY: l.o.tty || l.containerTTY, Stdout: shell.ToUser(l.e.Out), Stderr: shell.ToUser(l.e.Errw)}
	if l.stderr != nil {
		s.Stderr = io.MultiWriter(s.Stderr, l.stderr)
	}
	in := &inputReader{r: l.e.In, delay: l.inputDelay, keepOpen: l.keepInput, ended: make(chan struct{})}
	defer close(in.ended)
	if l.o.stdin {
		s.Stdin = in
	}
	if !l.o.tty {
		return stream.Run(ctx, s)
	}
	s.Stdout, s.Stderr = output.Raw(l.e.Out), nil
	s.Sizes = stream.NewSizes()
	if redraw {
		s.Sizes.Redraw()
	}
	defer shell.FollowSize(s.Sizes, l.size)()
	if !l.o.stdin {
		return stream.Run(ctx, s)
	}
	ctx, keys, done := stream.Detachable(ctx, in, l.o.detachKeys)
	defer done()
	s.Stdin = keys
	raw := &rawMode{terminal: l.input}
	in.begin = raw.begin
	defer raw.end()
	return stream.Run(ctx, s)
}

// size is the terminal's, 0 if unknown.
func (l *localStreams) size() (columns, lines int) {
	if columns, lines = l.e.Size(); columns > 0 || l.input == nil {
		return columns, lines
	}
	return shell.TerminalSize(l.input)
}

// inputReader is local input as a container gets it.
type inputReader struct {
	r io.Reader
	// begin is called before each Read; may be nil.
	begin func() error
	// delay is waited before the first Read.
	delay time.Duration
	// keepOpen: the end of the input is not passed on before ended is closed.
	keepOpen bool
	ended    chan struct{}
}

// Read implements io.Reader.
func (i *inputReader) Read(p []byte) (int, error) {
	if i.begin != nil {
		if err := i.begin(); err != nil {
			return 0, err
		}
	}
	if i.delay > 0 {
		time.Sleep(i.delay)
		i.delay = 0
	}
	n, err := i.r.Read(p)
	if n == 0 && errors.Is(err, io.EOF) && i.keepOpen {
		<-i.ended
	}
	return n, err
}
