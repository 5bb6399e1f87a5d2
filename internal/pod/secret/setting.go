package secret

import (
	"strings"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

var (
	// headerKey matches names of HTTP headers, which stand anywhere in a line of a log;
	// passwordKey those that are no other word in a sentence.
	headerKey   = lazyregexp.New(`(?i)^(?:x-.*|(?:proxy-)?authorization|(?:set-)?cookie)$`)
	passwordKey = lazyregexp.New(`(?i)passw|passphrase`)
	// environmentKey matches names of variables of an environment, whose values have any character.
	environmentKey = lazyregexp.New(`^[A-Z][A-Z0-9_]*$`)
	// valueAfter matches what is between the name of a variable and its value, where both are
	// values: {"name": "TOKEN", "value": "x"}, in YAML, and as Go prints a KeyValue of the CRI.
	valueAfter = lazyregexp.New(`^(?:,\s*|\n\s*)\\*"?[vV]alue\\*"?:[ \t]*`)
	// openValue matches values that are not secret, and numbers of tokens.
	openValue = lazyregexp.New(`(?i)^(?:[^=]*=(?:true|false|null|\**)|.*tokens=[\d.]+)$`)
	// word matches what stands after Basic and Bearer in a sentence or a challenge.
	word = lazyregexp.New(`^[A-Za-z][a-z]*=?$`)
)

const (
	blanks = " \t"
	// maxKey bounds the name of a setting, in bytes: what is longer is none.
	maxKey = 128
	// minCredential is the least length of a credential after Basic or Bearer that is taken for
	// one although it consists of letters only.
	minCredential = 16
)

// credential finds what follows Basic and Bearer.
func credential(text string, at, end int) (from, to int) {
	from = skip(text, end, blanks)
	if from == end || at > 0 && isKey(text[at-1]) {
		return 0, 0
	}
	to = until(text, from, func(c byte) bool { return !isKey(c) && !strings.ContainsRune("+/~=", rune(c)) })
	if value := text[from:to]; len(value) < 6 || len(value) < minCredential && word().MatchString(value) {
		return 0, 0
	}
	return from, to
}

// setting finds the value of the setting whose name has the word.
func setting(text string, at, end int) (from, to int) {
	begin := at
	for begin > 0 && at-begin < maxKey && isKey(text[begin-1]) {
		begin--
	}
	last := min(len(text), begin+maxKey+1)
	end = until(text[:last], end, func(c byte) bool { return !isKey(c) })
	key := text[begin:end]
	if end-begin > maxKey || !isSecretKey(key) && (!environmentKey().MatchString(key) || !isSecretVariable(key)) {
		return 0, 0
	}
	from, to = value(text, begin, end)
	if from < to && to-from < maxKey && openValue().MatchString(key+"="+text[from:to]) {
		return 0, 0
	}
	return from, to
}

// value finds the value of the setting whose name is from begin to end: in JSON, also in texts
// of it, TOML, YAML, a list of arguments, a query, or an assignment.
func value(text string, begin, end int) (from, to int) {
	after, isQuoted := afterQuote(text, end)
	at := skip(text, after, blanks)
	switch {
	case at < len(text) && (text[at] == '=' || text[at] == ':'):
		from = skip(text, at+1, blanks)
		if from < len(text) && text[from] == '[' {
			inner := skip(text, from+1, " \t\n")
			if _, is := afterQuote(text, inner); !is {
				return 0, 0
			}
			return inner, until(text, inner, func(c byte) bool { return c == ']' })
		}
		if q, is := afterQuote(text, from); is {
			return q, closing(text, text[from:q], q)
		}
		if text[at] == '=' && !isQuoted {
			ends := " \t\n\r\"'\\,;&)}][{"
			if environmentKey().MatchString(text[begin:end]) {
				ends = " \t\n\r\"'\\"
			}
			if mark := markBefore(text, begin); mark != "" && environmentKey().MatchString(text[begin:end]) {
				return from, closing(text, mark, from)
			}
			return from, unquoted(text, from, ends)
		}
		if text[at] == ':' && from > at+1 && from < len(text) {
			return afterColon(text, begin, end, from)
		}
	case at < len(text) && (text[at] == ',' || text[at] == '\n') && valueAfter().MatchString(text[at:min(len(text), at+maxKey)]):
		from = at + len(valueAfter().FindString(text[at:min(len(text), at+maxKey)]))
		if q, is := afterQuote(text, from); is {
			return q, closing(text, text[from:q], q)
		}
		to = until(text, from, func(c byte) bool { return c == '\n' || c == '"' })
		if i := strings.Index(text[from:to], ",}"); i >= 0 {
			to = from + i
		}
		return from, to
	case strings.HasPrefix(text[begin:end], "-"):
		if isQuoted && at < len(text) && text[at] == ',' {
			at = skip(text, at+1, " \t\n")
		} else if isQuoted || at == after {
			return 0, 0
		}
		if q, is := afterQuote(text, at); is {
			return q, closing(text, text[at:q], q)
		}
		if at < len(text) && text[at] != '-' && !isQuoted {
			return at, unquoted(text, at, " \t\n\"")
		}
	}
	return 0, 0
}

// afterColon finds a value that is not quoted after NAME and a colon: the rest of the line or a
// block of YAML where the name begins its line, else that of a header or a password.
func afterColon(text string, begin, end, from int) (int, int) {
	key := text[begin:end]
	switch {
	case beginsLine(text, begin) && (text[from] == '|' || text[from] == '>'):
		line := strings.LastIndexByte(text[:begin], '\n') + 1 // nothing but blanks stands between
		return block(text, from, skip(text, line, blanks)-line)
	case strings.IndexByte("|>{#&*!\n", text[from]) >= 0:
		return 0, 0
	case beginsLine(text, begin):
		return from, until(text, from, func(c byte) bool { return c == '\n' })
	case headerKey().MatchString(key):
		return from, unquoted(text, from, "\n\r\"'\\")
	case passwordKey().MatchString(key):
		return from, unquoted(text, from, " \t\n\r\"'\\,}")
	}
	return 0, 0
}

// block returns the range of the lines after a place that are indented by more than indent.
func block(text string, at, indent int) (from, to int) {
	from = until(text, at, func(c byte) bool { return c == '\n' })
	for to = from; to < len(text); {
		next := skip(text, to+1, blanks)
		if next < len(text) && text[next] != '\n' && next-to-1 <= indent {
			break
		}
		to = until(text, next, func(c byte) bool { return c == '\n' })
	}
	return from, to
}

// afterQuote returns the place after a quotation mark, with the backslashes before it.
func afterQuote(text string, at int) (after int, isQuote bool) {
	q := skip(text, at, `\`)
	if q < len(text) && (text[q] == '"' || text[q] == '\'') {
		return q + 1, true
	}
	return at, false
}

// markBefore returns the quotation mark, with its backslashes, that stands before a place, ""
// if none does.
func markBefore(text string, at int) string {
	if at == 0 || text[at-1] != '"' && text[at-1] != '\'' {
		return ""
	}
	begin := at - 1
	for begin > 0 && text[begin-1] == '\\' && at-begin < maxKey {
		begin--
	}
	return text[begin:at]
}

// closing returns the place of the quotation mark that ends a value, that of the end of the
// line or the text if there is none. One with more backslashes than the mark is a part of the
// value.
func closing(text, mark string, from int) int {
	quote, outer := mark[len(mark)-1], len(mark)-1
	for at := from; at < len(text); at++ {
		n := skip(text, at, `\`) - at
		switch at += n; {
		case at == len(text):
		case text[at] == '\n':
			return at - n
		case text[at] != quote:
		case quote == '\'' && strings.HasPrefix(text[at:], `'\''`): // of a shell
			at += 3
		case quote == '\'' && strings.HasPrefix(text[at:], `''`) && at > from: // of YAML
			at++
		case n < outer:
			return at - n
		case quote == '\'' || n%(2*(outer+1)) == outer:
			return at - outer
		}
	}
	return len(text)
}

// unquoted returns the end of a value that one of the characters ends. One that JSON escapes is
// what it stands for.
func unquoted(text string, from int, ends string) int {
	var one escaped
	for at := from; at < len(text); at++ {
		if text[at] == '\\' {
			if char, n := escape(text[at:], &one); len(char) == 1 && strings.IndexByte(ends, char[0]) < 0 {
				at += n - 1
				continue
			}
		}
		if strings.IndexByte(ends, text[at]) >= 0 {
			return at
		}
	}
	return len(text)
}

// beginsLine reports whether nothing stands before a place in its line but blanks and the mark
// of an item of a YAML list.
func beginsLine(text string, at int) bool {
	for at > 0 && strings.IndexByte(blanks+"-", text[at-1]) >= 0 {
		at--
	}
	return at == 0 || text[at-1] == '\n'
}

func isKey(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

func skip(text string, at int, over string) int {
	return until(text, at, func(c byte) bool { return strings.IndexByte(over, c) < 0 })
}

func until(text string, at int, ends func(byte) bool) int {
	for at < len(text) && !ends(text[at]) {
		at++
	}
	return at
}
