package sim

import (
	"path"
	"strings"
)

// parseCommand parses an argv: a shell with a script, or a plain command.
func parseCommand(argv []string) (node, bool) {
	if len(argv) == 0 {
		return nil, false
	}
	switch path.Base(argv[0]) {
	case "sh", "bash", "ash", "dash":
		for i, a := range argv[1:] {
			if strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") && i+2 < len(argv) {
				n, err := parse(argv[i+2])
				return n, err == nil
			}
		}
		return nil, false
	}
	c := &command{}
	for _, a := range argv {
		c.words = append(c.words, word{{text: a, quoted: true}})
	}
	return c, true
}

// parse parses a script.
func parse(script string) (node, error) {
	toks, err := lex(script)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks}
	l, err := p.list()
	if err == nil && len(p.toks) > 0 {
		err = errShell
	}
	return l, err
}

type parser struct{ toks []token }

func (p *parser) op() string {
	if len(p.toks) == 0 {
		return ""
	}
	return p.toks[0].op
}

func (p *parser) keyword() string {
	if len(p.toks) == 0 {
		return ""
	}
	return p.toks[0].word.plain()
}

func (p *parser) skip() { p.toks = p.toks[1:] }

func (p *parser) expect(keyword string) error {
	if p.keyword() != keyword && p.op() != keyword {
		return errShell
	}
	p.skip()
	return nil
}

// list parses up to a word or parenthesis that ends it.
func (p *parser) list() (list, error) {
	var l list
	after := ";"
	for len(p.toks) > 0 {
		switch p.keyword() {
		case "do", "done", "then", "else", "elif", "fi", "}":
			return l, nil
		}
		switch op := p.op(); op {
		case ")":
			return l, nil
		case ";", "&&", "||":
			p.skip()
			after = op
			continue
		case "&":
			if len(l) == 0 {
				return nil, errShell
			}
			p.skip()
			l[len(l)-1].background = true
			after = ";"
			continue
		case "|":
			return nil, errShell
		}
		it := item{after: after}
		if p.keyword() == "!" {
			p.skip()
			it.negate = true
		}
		var err error
		if it.body, err = p.one(); err != nil {
			return nil, err
		}
		l = append(l, it)
		after = ";"
	}
	return l, nil
}

// one parses one command of any kind.
func (p *parser) one() (node, error) {
	switch kw := p.keyword(); kw {
	case "while", "until":
		p.skip()
		cond, err := p.list()
		if err != nil {
			return nil, err
		}
		body, err := p.block("do", "done")
		return &loop{cond: cond, body: body, until: kw == "until"}, err
	case "for":
		return p.forLoop()
	case "if":
		p.skip()
		return p.branch()
	case "{":
		return p.block("{", "}")
	case "case", "function", "[[":
		return nil, errShell
	}
	if p.op() == "(" {
		return p.block("(", ")")
	}
	return p.command()
}

func (p *parser) block(open, end string) (node, error) {
	if err := p.expect(open); err != nil {
		return nil, err
	}
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	return l, p.expect(end)
}

func (p *parser) branch() (node, error) {
	cond, err := p.list()
	if err != nil {
		return nil, err
	}
	if err := p.expect("then"); err != nil {
		return nil, err
	}
	b := &branch{cond: cond}
	if b.then, err = p.list(); err != nil {
		return nil, err
	}
	switch p.keyword() {
	case "elif":
		p.skip()
		b.otherwise, err = p.branch()
		return b, err
	case "else":
		p.skip()
		if b.otherwise, err = p.list(); err != nil {
			return nil, err
		}
	}
	return b, p.expect("fi")
}

func (p *parser) forLoop() (node, error) {
	p.skip()
	f := &each{name: p.keyword()}
	if f.name == "" {
		return nil, errShell
	}
	p.skip()
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	for len(p.toks) > 0 && p.op() == "" {
		f.words = append(f.words, p.toks[0].word)
		p.skip()
	}
	for p.op() == ";" {
		p.skip()
	}
	var err error
	f.body, err = p.block("do", "done")
	return f, err
}

func (p *parser) command() (node, error) {
	c := &command{}
	for len(p.toks) > 0 {
		t := p.toks[0]
		switch {
		case t.op == "1" || t.op == "2" || t.op == ">" || t.op == ">>" || t.op == ">&" || t.op == "<":
			r, err := p.redirection()
			if err != nil {
				return nil, err
			}
			c.redirs = append(c.redirs, r)
		case t.op == "(":
			return nil, errShell
		case t.op != "":
			return c, nil
		default:
			p.skip()
			if a, ok := asAssignment(t.word); ok && len(c.words) == 0 {
				c.assign = append(c.assign, a)
			} else {
				c.words = append(c.words, t.word)
			}
		}
	}
	return c, nil
}

func (p *parser) redirection() (redirection, error) {
	r := redirection{fd: "1"}
	if op := p.op(); op == "1" || op == "2" {
		r.fd = op
		p.skip()
	}
	r.op = p.op()
	if r.op == "<" {
		r.fd = "0"
	}
	p.skip()
	if len(p.toks) == 0 || p.op() != "" {
		return r, errShell
	}
	r.target = p.toks[0].word
	p.skip()
	return r, nil
}

func asAssignment(w word) (assignment, bool) {
	if len(w) == 0 || w[0].kind != literal || w[0].quoted {
		return assignment{}, false
	}
	name, value, ok := strings.Cut(w[0].text, "=")
	if !ok || name == "" || strings.Trim(name, nameChars) != "" {
		return assignment{}, false
	}
	rest := append(word{{text: value}}, w[1:]...)
	return assignment{name, rest}, true
}
