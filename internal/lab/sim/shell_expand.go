package sim

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordLimit bounds what a word stands for, in bytes, as the kernel bounds an argument;
// fieldsLimit is how many strings a command has at most, and what they have together. What is
// more is cut off.
const (
	wordLimit   = 128 << 10
	fieldsLimit = 1 << 20
)

// limited is a text that is cut off at wordLimit.
type limited struct{ strings.Builder }

func (l *limited) add(text string) { l.WriteString(text[:min(len(text), wordLimit-l.Len())]) }

// fields returns the strings that words stand for.
func (s *shell) fields(words []*syntax.Word) []string {
	var all []string
	size := 0
	for _, w := range words {
		for _, f := range s.expand(w) {
			if size += len(f) + 1; size > fieldsLimit {
				return all
			}
			all = append(all, f)
		}
	}
	return all
}

// expand returns the strings that a word stands for: what is not quoted is cut into
// fields.
func (s *shell) expand(w *syntax.Word) []string {
	var fields []string
	var open limited
	started, size := false, 0
	for _, p := range w.Parts {
		value, split := s.value(p, false)
		if !split {
			open.add(value)
			started = true
			continue
		}
		for i, f := range strings.Fields(value) {
			if i > 0 {
				if size += open.Len(); size > fieldsLimit {
					return fields
				}
				fields = append(fields, open.String())
				open.Reset()
			}
			open.add(f)
			started = true
		}
	}
	if started {
		fields = append(fields, open.String())
	}
	return fields
}

// text returns what a word stands for, without cutting it into fields.
func (s *shell) text(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	return s.join(w.Parts, false)
}

func (s *shell) join(parts []syntax.WordPart, quoted bool) string {
	var b limited
	for _, p := range parts {
		value, _ := s.value(p, quoted)
		b.add(value)
	}
	return b.String()
}

// value returns what a part of a word stands for, and whether it is cut into fields
// where it is not quoted.
func (s *shell) value(p syntax.WordPart, quoted bool) (value string, split bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		return unescape(p.Value, quoted), false
	case *syntax.SglQuoted:
		return p.Value, false
	case *syntax.DblQuoted:
		return s.join(p.Parts, true), false
	case *syntax.ParamExp:
		value := s.variable(p.Param.Value)
		if value == "" && p.Exp != nil {
			value = s.text(p.Exp.Word)
		}
		return value, true
	case *syntax.ArithmExp:
		return strconv.Itoa(s.sum(p.X)), true
	case *syntax.CmdSubst:
		return s.output(p.Stmts), true
	}
	return "", false
}

// unescape removes the backslashes that quote a character.
func unescape(text string, quoted bool) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			i++
			if text[i] == '\n' { // the line goes on
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func (s *shell) variable(name string) string {
	switch name {
	case "?":
		return strconv.Itoa(s.status)
	case "$":
		return "1"
	case "HOSTNAME":
		return s.p.hostname
	}
	return s.vars[name]
}

// output returns what statements print, without the newlines at its end.
func (s *shell) output(stmts []*syntax.Stmt) string {
	var b strings.Builder
	sub := s.subshell()
	sub.out = func(text string) { b.WriteString(text[:min(len(text), fileLimit-b.Len())]) }
	sub.run(stmts)
	s.status = sub.status
	return strings.TrimRight(b.String(), "\n")
}

// sum adds and subtracts numbers and variables.
func (s *shell) sum(x syntax.ArithmExpr) int {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		if x.Op == syntax.Sub {
			return s.sum(x.X) - s.sum(x.Y)
		}
		return s.sum(x.X) + s.sum(x.Y)
	case *syntax.UnaryArithm:
		return -s.sum(x.X)
	case *syntax.ParenArithm:
		return s.sum(x.X)
	case *syntax.Word:
		text := s.text(x)
		n, err := strconv.Atoi(text)
		if err != nil {
			n, _ = strconv.Atoi(s.vars[text])
		}
		return n
	}
	return 0
}
