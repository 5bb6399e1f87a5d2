package sim

import (
	"errors"
	"strings"
)

// errShell is that the interpreter does not understand a command.
var errShell = errors.New("not understood")

// part is a piece of a word.
type part struct {
	text   string // literal text, or a variable's name
	kind   partKind
	quoted bool
	body   node // of a command substitution
}

type partKind uint8

const (
	literal partKind = iota
	variable
	substitution // $(command)
	arithmetic   // $((expression))
)

type word []part

// plain is the word's text if it is one unquoted literal: a keyword, perhaps.
func (w word) plain() string {
	if len(w) == 1 && w[0].kind == literal && !w[0].quoted {
		return w[0].text
	}
	return ""
}

// token is an operator, or a word.
type token struct {
	op   string
	word word
}

var operators = []string{"&&", "||", ">>", ">&", ";", "&", "(", ")", ">", "<", "\n", "|"}

// lex cuts a script into tokens.
func lex(s string) ([]token, error) {
	var toks []token
	for s != "" {
		switch s[0] {
		case ' ', '\t':
			s = s[1:]
			continue
		case '#':
			_, rest, found := strings.Cut(s, "\n")
			s = rest
			if found {
				toks = append(toks, token{op: ";"})
			}
			continue
		}
		// 2> and its like belong together.
		if len(s) > 1 && (s[0] == '1' || s[0] == '2') && s[1] == '>' {
			toks = append(toks, token{op: s[:1]})
			s = s[1:]
			continue
		}
		if op := operatorAt(s); op != "" {
			s = s[len(op):]
			if op == "\n" {
				op = ";"
			}
			toks = append(toks, token{op: op})
			continue
		}
		w, rest, err := lexWord(s)
		if err != nil {
			return nil, err
		}
		toks, s = append(toks, token{word: w}), rest
	}
	return toks, nil
}

func operatorAt(s string) string {
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

func lexWord(s string) (w word, rest string, err error) {
	add := func(text string, quoted bool) {
		if n := len(w); n > 0 && w[n-1].kind == literal && w[n-1].quoted == quoted {
			w[n-1].text += text
			return
		}
		w = append(w, part{text: text, quoted: quoted})
	}
	inDouble := false
	for s != "" {
		c := s[0]
		switch {
		case c == '"':
			inDouble = !inDouble
			add("", true)
			s = s[1:]
		case c == '\'' && !inDouble:
			text, after, ok := strings.Cut(s[1:], "'")
			if !ok {
				return nil, "", errShell
			}
			add(text, true)
			s = after
		case c == '\\' && len(s) > 1:
			add(s[1:2], true)
			s = s[2:]
		case c == '$' && len(s) > 1:
			var p part
			if p, s, err = lexDollar(s[1:]); err != nil {
				return nil, "", err
			}
			p.quoted = inDouble
			if p.kind == literal {
				add(p.text, inDouble)
			} else {
				w = append(w, p)
			}
		case c == '`':
			return nil, "", errShell
		case !inDouble && (c == ' ' || c == '\t' || operatorAt(s) != ""):
			return w, s, nil
		default:
			add(s[:1], inDouble)
			s = s[1:]
		}
	}
	if inDouble {
		return nil, "", errShell
	}
	return w, "", nil
}

// lexDollar reads what follows a dollar sign.
func lexDollar(s string) (part, string, error) {
	switch {
	case strings.HasPrefix(s, "(("):
		text, rest, ok := strings.Cut(s[2:], "))")
		if !ok {
			return part{}, "", errShell
		}
		return part{kind: arithmetic, text: text}, rest, nil
	case s[0] == '(':
		end := closing(s)
		if end < 0 {
			return part{}, "", errShell
		}
		body, err := parse(s[1:end])
		return part{kind: substitution, body: body}, s[end+1:], err
	case s[0] == '{':
		name, rest, ok := strings.Cut(s[1:], "}")
		if !ok || strings.Trim(name, nameChars) != "" {
			return part{}, "", errShell
		}
		return part{kind: variable, text: name}, rest, nil
	case strings.ContainsRune("?$#!", rune(s[0])):
		return part{kind: variable, text: s[:1]}, s[1:], nil
	}
	name := s[:len(s)-len(strings.TrimLeft(s, nameChars))]
	if name == "" {
		return part{text: "$"}, s, nil
	}
	return part{kind: variable, text: name}, s[len(name):], nil
}

const nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// closing finds the parenthesis that closes the one s begins with.
func closing(s string) int {
	depth := 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
