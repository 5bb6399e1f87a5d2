package sim

import (
	"context"
	"io"
	"maps"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// minTurn is what one turn of a loop takes at least, so that a loop without a
// sleep does not stop virtual time.
const minTurn = time.Millisecond

// control is how a command ended: regularly, or by leaving what is around it.
type control uint8

const (
	goOn control = iota
	leaveShell
	leaveLoop
	nextTurn
)

// shell runs parsed scripts.
type shell struct {
	ctx  context.Context
	p    *process
	exec bool // by ExecSync: signals are not its business
	// nested: it is a subshell, whose signals are those of the shell around it.
	nested bool
	// trapped: it runs the command of a trap, and the next signal waits for its end.
	trapped bool
	depth   int // of shells in shells
	// inBackground: what it does not know, it does not pass over: it runs on.
	inBackground bool
	vars         map[string]string
	status       int
	dir          string
	in           io.Reader // nil is empty
	out          func(string)
	err          func(string)
	jobs         []chan struct{} // closed when what is in the background ended
	all          *jobs           // everything in the background, of subshells too
}

// depthLimit bounds shells in shells, jobsLimit what runs in the background of a container or of
// a command in it.
const (
	depthLimit = 100
	jobsLimit  = 1000
)

// jobs is what runs in the background. The zero value is nothing.
type jobs struct {
	sync.WaitGroup
	running atomic.Int32
}

// start runs f in the background; it reports false, and that nothing can be started, if there is
// too much already.
func (s *shell) start(f func()) bool {
	if s.all.running.Add(1) > jobsLimit {
		s.all.running.Add(-1)
		s.err("sh: can't fork: Resource temporarily unavailable\n")
		s.status = 2
		return false
	}
	s.all.Go(func() {
		defer s.all.running.Add(-1)
		f()
	})
	return true
}

func newShell(ctx context.Context, p *process, all *jobs) *shell {
	return &shell{
		ctx: ctx, p: p, vars: maps.Clone(p.env), all: all, dir: p.dir, in: p.stdin,
		out: func(text string) { p.log.write("stdout", text) },
		err: func(text string) { p.log.write("stderr", text) },
	}
}

// run runs statements in order.
func (s *shell) run(stmts []*syntax.Stmt) control {
	for _, st := range stmts {
		if c := s.stmt(st); c != goOn {
			return c
		}
	}
	return goOn
}

func (s *shell) stmt(st *syntax.Stmt) control {
	if st.Background {
		s.background(st)
		return goOn
	}
	return s.foreground(st)
}

// foreground runs a statement with its redirections.
func (s *shell) foreground(st *syntax.Stmt) control {
	if s.ctx.Err() != nil {
		return leaveShell
	}
	in, out, err := s.in, s.out, s.err
	c := goOn
	if s.redirect(st.Redirs) {
		c = s.command(st.Cmd)
	}
	s.in, s.out, s.err = in, out, err
	if c == goOn && st.Negated {
		s.status = boolStatus(s.status != 0)
	}
	return c
}

func (s *shell) command(n syntax.Command) control {
	switch n := n.(type) {
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe {
			s.pipe(n)
			break
		}
		if c := s.stmt(n.X); c != goOn || (n.Op == syntax.AndStmt) != (s.status == 0) {
			return c
		}
		return s.stmt(n.Y)
	case *syntax.Block:
		return s.run(n.Stmts)
	case *syntax.Subshell:
		sub := s.subshell()
		sub.run(n.Stmts)
		s.status = sub.status
	case *syntax.CaseClause:
		return s.choose(n)
	case *syntax.WhileClause:
		return s.loop(n)
	case *syntax.ForClause:
		return s.each(n)
	case *syntax.IfClause:
		return s.branch(n)
	case *syntax.CallExpr:
		if c := s.call(n); c != goOn {
			return c
		}
	case *syntax.DeclClause:
		s.status = 0
		s.assign(n.Args)
	}
	return s.handleSignals()
}

// subshell returns a copy that shares the input and output.
func (s *shell) subshell() *shell {
	sub := *s
	sub.vars, sub.nested = maps.Clone(s.vars), true
	return &sub
}

// background runs a statement in a subshell.
func (s *shell) background(st *syntax.Stmt) {
	sub := s.subshell()
	sub.exec, sub.inBackground = true, true // signals go to the first process only
	sub.jobs, sub.in = nil, nil
	s.status = 0
	done := make(chan struct{})
	if s.start(func() {
		defer close(done)
		sub.foreground(st)
	}) {
		s.jobs = append(s.jobs, done)
	}
}

// pipe runs two statements side by side. What writes on when nobody reads any more is ended.
func (s *shell) pipe(n *syntax.BinaryCmd) {
	r, w := io.Pipe()
	left, right := s.subshell(), s.subshell()
	var cancel context.CancelFunc
	left.ctx, cancel = context.WithCancel(s.ctx)
	left.inBackground, left.jobs = left.inBackground || !s.exec, nil
	left.out = func(text string) {
		if _, err := io.WriteString(w, text); err != nil {
			cancel()
		}
	}
	ended := make(chan struct{})
	if !s.start(func() {
		defer close(ended)
		left.stmt(n.X)
		_ = w.Close()
	}) {
		cancel()
		return
	}
	stop := context.AfterFunc(s.ctx, func() { _ = r.Close() })
	right.in = r
	right.stmt(n.Y)
	stop()
	cancel()
	_ = r.Close()
	<-ended
	s.status = right.status
}

// choose runs the first branch of a case whose pattern matches.
func (s *shell) choose(n *syntax.CaseClause) control {
	word := s.text(n.Word)
	s.status = 0
	for _, item := range n.Items {
		for _, p := range item.Patterns {
			if matched, _ := path.Match(s.text(p), word); matched {
				return s.run(item.Stmts)
			}
		}
	}
	return goOn
}

func (s *shell) branch(b *syntax.IfClause) control {
	if len(b.Cond) == 0 { // else
		return s.run(b.Then)
	}
	if c := s.run(b.Cond); c != goOn {
		return c
	}
	if s.status == 0 {
		return s.run(b.Then)
	}
	s.status = 0
	if b.Else != nil {
		return s.branch(b.Else)
	}
	return goOn
}

func (s *shell) loop(l *syntax.WhileClause) control {
	for {
		if c := s.run(l.Cond); c != goOn {
			return c
		}
		if (s.status == 0) == l.Until {
			s.status = 0
			return goOn
		}
		if c := s.turn(l.Do); c == leaveLoop {
			return goOn
		} else if c == leaveShell {
			return c
		}
	}
}

func (s *shell) each(f *syntax.ForClause) control {
	words := f.Loop.(*syntax.WordIter)
	for _, v := range s.fields(words.Items) {
		s.vars[words.Name.Value] = v
		if c := s.turn(f.Do); c == leaveLoop {
			return goOn
		} else if c == leaveShell {
			return c
		}
	}
	return goOn
}

func (s *shell) turn(body []*syntax.Stmt) control {
	c := s.run(body)
	if c == goOn || c == nextTurn {
		pause(s.ctx, minTurn)
		return s.handleSignals()
	}
	return c
}

// handleSignals runs the traps of what arrived during the last command.
func (s *shell) handleSignals() control {
	if s.ctx.Err() != nil {
		return leaveShell
	}
	if s.exec || s.nested || s.trapped {
		return goOn
	}
	s.trapped = true
	defer func() { s.trapped = false }()
	for {
		body, ok := s.p.takePending()
		if !ok {
			return goOn
		}
		if c := s.run(body.Stmts); c != goOn {
			return c
		}
		pause(s.ctx, minTurn) // its body may signal again
	}
}

func boolStatus(ok bool) int {
	if ok {
		return 0
	}
	return 1
}
