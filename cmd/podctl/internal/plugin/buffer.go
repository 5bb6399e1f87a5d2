package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/fleet"
	"github.com/podctl/podctl/internal/fleet/cluster"
)

const (
	// maxAnswer bounds what one node prints, maxAnswers what is kept of all nodes, in
	// bytes.
	maxAnswer  = 4 << 20
	maxAnswers = 256 << 20
	// maxErrors bounds what is kept of a node's stderr.
	maxErrors = 16 << 10
)

var (
	errTooLarge  = errors.New("the answer is larger than 4 MiB")
	errAllTooBig = errors.New("the answers of all nodes are larger than 256 MiB: select fewer nodes")
)

// budget is the memory for the answers of all nodes. It is safe for concurrent use.
type budget struct{ left atomic.Int64 }

func newBudget() *budget {
	b := &budget{}
	b.left.Store(maxAnswers)
	return b
}

// take reports whether n bytes were left, which are the caller's then.
func (b *budget) take(n int) bool {
	if b.left.Add(-int64(n)) >= 0 {
		return true
	}
	b.give(n)
	return false
}

func (b *budget) give(n int) { b.left.Add(int64(n)) }

// answerBuffer keeps what a node prints to stdout. It is safe for concurrent use: the node
// may go on printing after it was given up.
type answerBuffer struct {
	budget *budget

	mu     sync.Mutex
	text   []byte
	closed bool
}

func (a *answerBuffer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return 0, io.ErrClosedPipe
	case len(a.text)+len(p) > maxAnswer:
		return 0, errTooLarge
	case !a.budget.take(len(p)):
		return 0, errAllTooBig
	}
	a.text = append(a.text, p...)
	return len(p), nil
}

// close returns what was printed; later writes fail.
func (a *answerBuffer) close() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return a.text
}

// errorBuffer keeps the beginning of what a node prints to stderr. It is safe for
// concurrent use.
type errorBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (e *errorBuffer) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, p[:min(len(p), maxErrors-len(e.text))]...)
	return len(p), nil
}

func (e *errorBuffer) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.text)
}

// stream runs the command on one target with the streams of this process. The exit code is
// the command's.
func (r *run) stream(ctx context.Context, target fleet.Target) error {
	if target.Failure != nil {
		return shell.Unreachable(fmt.Errorf("no answer from %s: %s", target.Node, target.Failure.Message))
	}
	if r.streams {
		shell.Settle()
	}
	ctx, cancel := r.within(ctx, 0)
	defer cancel()
	x := r.exec(target, shell.ToUser(r.env.Out), r.env.Errw)
	if r.stdin {
		x.Stdin = r.env.In
	}
	var err error
	if terminal := shell.Terminal(r.env.In); r.tty && r.stdin && terminal != nil {
		err = r.onTerminal(ctx, x, terminal)
	} else {
		err = r.client.Exec(ctx, x)
	}
	if exit, ok := errors.AsType[*stream.ExitError](err); ok {
		return &shell.StatusError{Code: exit.Code}
	}
	if err != nil {
		return shell.Unreachable(fmt.Errorf("node %s: %w", target.Node, err))
	}
	return nil
}

// onTerminal passes every key, the size and what is printed between this terminal and the
// command.
func (r *run) onTerminal(ctx context.Context, x cluster.Exec, terminal *os.File) error {
	x.TTY, x.Stdout, x.Sizes = true, output.Raw(r.env.Out), stream.NewSizes()
	defer shell.FollowSize(x.Sizes, func() (columns, lines int) { return shell.TerminalSize(terminal) })()
	before, err := term.MakeRaw(int(terminal.Fd()))
	if err != nil {
		return fmt.Errorf("set the terminal's mode: %w", err)
	}
	defer func() { _ = term.Restore(int(terminal.Fd()), before) }() // it may be gone
	return r.client.Exec(ctx, x)
}
