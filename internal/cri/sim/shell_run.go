package sim

import (
	"context"
	"maps"
	"sync"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// turn is what one turn of a loop takes at least, so that a loop without a
// sleep does not stop virtual time.
const turn = time.Millisecond

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
	// inBackground: what it does not know, it does not pass over: it runs on.
	inBackground bool
	vars         map[string]string
	status       int
	out          func(string)
	err          func(string)
	jobs         []chan struct{} // closed when what is in the background ended
	all          *sync.WaitGroup // everything in the background, of subshells too
}

func newShell(ctx context.Context, p *process, all *sync.WaitGroup) *shell {
	return &shell{
		ctx: ctx, p: p, vars: maps.Clone(p.env), all: all,
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
	out, err := s.out, s.err
	for _, r := range st.Redirs {
		s.redirect(r)
	}
	c := s.command(st.Cmd)
	s.out, s.err = out, err
	if c == goOn && st.Negated {
		s.status = boolStatus(s.status != 0)
	}
	return c
}

func (s *shell) command(n syntax.Command) control {
	switch n := n.(type) {
	case *syntax.BinaryCmd:
		if c := s.stmt(n.X); c != goOn || (n.Op == syntax.AndStmt) != (s.status == 0) {
			return c
		}
		return s.stmt(n.Y)
	case *syntax.Block:
		return s.run(n.Stmts)
	case *syntax.Subshell:
		return s.run(n.Stmts)
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

// background runs a statement in a subshell that shares the output.
func (s *shell) background(st *syntax.Stmt) {
	sub := *s
	sub.exec, sub.inBackground = true, true // signals go to the first process only
	sub.vars = maps.Clone(s.vars)
	sub.jobs = nil
	s.status = 0
	done := make(chan struct{})
	s.jobs = append(s.jobs, done)
	s.all.Go(func() {
		defer close(done)
		sub.foreground(st)
	})
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
		pause(s.ctx, turn)
		return s.handleSignals()
	}
	return c
}

// handleSignals runs the traps of what arrived during the last command.
func (s *shell) handleSignals() control {
	if s.ctx.Err() != nil {
		return leaveShell
	}
	if s.exec {
		return goOn
	}
	for {
		body, ok := s.p.takePending()
		if !ok {
			return goOn
		}
		if c := s.run(body.Stmts); c != goOn {
			return c
		}
	}
}

func boolStatus(ok bool) int {
	if ok {
		return 0
	}
	return 1
}
