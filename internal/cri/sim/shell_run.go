package sim

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"
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

// run runs a piece of script.
func (s *shell) run(n node) control {
	if s.ctx.Err() != nil {
		return leaveShell
	}
	switch n := n.(type) {
	case list:
		return s.list(n)
	case *loop:
		return s.loop(n)
	case *each:
		return s.each(n)
	case *branch:
		if c := s.run(n.cond); c != goOn {
			return c
		}
		if s.status == 0 {
			return s.run(n.then)
		}
		s.status = 0
		if n.otherwise != nil {
			return s.run(n.otherwise)
		}
		return goOn
	case *command:
		if c := s.command(n); c != goOn {
			return c
		}
		return s.handleSignals()
	}
	return goOn
}

func (s *shell) list(l list) control {
	for _, it := range l {
		if it.after == "&&" && s.status != 0 || it.after == "||" && s.status == 0 {
			continue
		}
		if it.background {
			s.background(it.body)
			continue
		}
		if c := s.run(it.body); c != goOn {
			return c
		}
		if it.negate {
			s.status = boolStatus(s.status != 0)
		}
	}
	return goOn
}

// background runs a piece in a subshell that shares the output.
func (s *shell) background(n node) {
	sub := *s
	sub.exec, sub.inBackground = true, true // signals go to the first process only
	sub.vars = maps.Clone(s.vars)
	sub.jobs = nil
	s.status = 0
	done := make(chan struct{})
	s.jobs = append(s.jobs, done)
	s.all.Go(func() {
		defer close(done)
		sub.run(n)
	})
}

func (s *shell) loop(l *loop) control {
	for {
		if c := s.run(l.cond); c != goOn {
			return c
		}
		if (s.status == 0) == l.until {
			s.status = 0
			return goOn
		}
		if c := s.turn(l.body); c == leaveLoop {
			return goOn
		} else if c == leaveShell {
			return c
		}
	}
}

func (s *shell) each(f *each) control {
	var values []string
	for _, w := range f.words {
		values = append(values, s.expand(w)...)
	}
	for _, v := range values {
		s.vars[f.name] = v
		if c := s.turn(f.body); c == leaveLoop {
			return goOn
		} else if c == leaveShell {
			return c
		}
	}
	return goOn
}

func (s *shell) turn(body node) control {
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
		if c := s.run(body); c != goOn {
			return c
		}
	}
}

// expand makes the strings that a word stands for.
func (s *shell) expand(w word) []string {
	var fields []string
	var open strings.Builder
	started := false
	for _, p := range w {
		value := s.value(p)
		if p.kind == literal || p.quoted {
			open.WriteString(value)
			started = true
			continue
		}
		for i, f := range strings.Fields(value) {
			if i > 0 {
				fields = append(fields, open.String())
				open.Reset()
			}
			open.WriteString(f)
			started = true
		}
	}
	if started {
		fields = append(fields, open.String())
	}
	return fields
}

// text is expand without the cutting into fields.
func (s *shell) text(w word) string {
	var b strings.Builder
	for _, p := range w {
		b.WriteString(s.value(p))
	}
	return b.String()
}

func (s *shell) value(p part) string {
	switch p.kind {
	case variable:
		switch p.text {
		case "?":
			return strconv.Itoa(s.status)
		case "$":
			return "1"
		case "HOSTNAME":
			return s.p.hostname
		}
		return s.vars[p.text]
	case arithmetic:
		return strconv.Itoa(s.sum(p.text))
	case literal:
	case substitution:
		var b strings.Builder
		sub := *s
		sub.vars = maps.Clone(s.vars)
		sub.out = func(text string) { b.WriteString(text) }
		sub.run(p.body)
		s.status = sub.status
		return strings.TrimRight(b.String(), "\n")
	}
	return p.text
}

// sum adds and subtracts numbers and variables.
func (s *shell) sum(expr string) int {
	total, sign := 0, 1
	for f := range strings.FieldsSeq(strings.NewReplacer("+", " + ", "-", " - ").Replace(expr)) {
		switch f {
		case "+":
			sign = 1
		case "-":
			sign = -1
		default:
			f = strings.TrimPrefix(f, "$")
			n, err := strconv.Atoi(f)
			if err != nil {
				n, _ = strconv.Atoi(s.vars[f])
			}
			total += sign * n
		}
	}
	return total
}

func boolStatus(ok bool) int {
	if ok {
		return 0
	}
	return 1
}
