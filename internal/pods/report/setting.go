package report

import (
	"regexp"
	"strings"
	"sync"

	"github.com/podctl/podctl/internal/pod/secret"
)

var (
	// secretKey matches names of settings, headers, flags and query parameters that hold secrets.
	secretKey = lazily(`(?i)passw|passphrase|pwd|secret|token|credential|(?:api|access|private|account|encryption|signing|shared|master|ssh|deploy)[_-]?key|key-data|authorization|cookie|signature|(?:^|[_.-])(?:auth|sig|pass|psk)$`)
	// headerKey matches names of HTTP headers, which stand anywhere in a line of a log;
	// passwordKey those that are no other word in a sentence.
	headerKey   = lazily(`(?i)^(?:x-.*|(?:proxy-)?authorization|(?:set-)?cookie)$`)
	passwordKey = lazily(`(?i)passw|passphrase`)
	// environmentKey matches names of variables of an environment, whose values have any character.
	environmentKey = lazily(`^[A-Z][A-Z0-9_]*$`)
	// valueAfter matches what is between the name of a variable and its value, where both are
	// values: {"name": "TOKEN", "value": "x"}, in YAML, and as Go prints a KeyValue of the CRI.
	valueAfter = lazily(`^(?:,\s*|\n\s*)\\*"?[vV]alue\\*"?:[ \t]*`)
	// openKey matches those of them whose values are not secret: names, files, limits.
	openKey = lazily(`(?i)(?:names?|files?|paths?|dirs?|refs?|modes?|types?|ttl|seconds|limit|count|plugin|provider|enabled|uri|url|endpoint|namespace)$`)
	// openValue matches values that are not secret, and numbers of tokens.
	openValue = lazily(`(?i)^(?:[^=]*=(?:true|false|null|\**)|.*tokens=[\d.]+)$`)
	// word matches what stands after Basic and Bearer in a sentence or a challenge.
	word = lazily(`^[A-Za-z][a-z]*=?$`)
)

const (
	blanks = " \t"
	// maxKey bounds the name of a setting, in bytes: what is longer is none.
	maxKey = 128
	// minCredential is the least length of a credential after Basic or Bearer that is taken for
	// one although it consists of letters only.
	minCredential = 16
)

// lazily compiles an expression when it is first used: the start of every other command would be
// slower by all of them.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// scan calls find where one of the words begins, whatever its case; the words are lower case.
// find returns the range of a secret value in the text, an empty one if there is none. scan
// returns the text without these values, and their number.
func scan(text string, words []string, find func(text string, at, end int) (from, to int)) (string, int) {
	lower := asciiLower(text)
	next := make([]int, len(words))
	for i := range next {
		next[i] = -1
	}
	var out strings.Builder
	done, n := 0, 0
	for at := 0; ; at++ {
		nearest := -1
		for i, w := range words {
			if next[i] < at && next[i] != len(text) {
				if next[i] = strings.Index(lower[at:], w); next[i] < 0 {
					next[i] = len(text)
				} else {
					next[i] += at
				}
			}
			if next[i] < len(text) && (nearest < 0 || next[i] < next[nearest]) {
				nearest = i
			}
		}
		if nearest < 0 {
			break
		}
		at = next[nearest]
		from, to := find(text, at, at+len(words[nearest]))
		if from < done || from >= to {
			continue
		}
		out.WriteString(text[done:from])
		out.WriteString(secret.Placeholder)
		done, at = to, to-1
		n++
	}
	out.WriteString(text[done:])
	return out.String(), n
}

// asciiLower returns a text with lower case letters, each at the place that it has in the text.
func asciiLower(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

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
	end = until(text, end, func(c byte) bool { return !isKey(c) })
	key := text[begin:end]
	if end-begin > maxKey || !secretKey().MatchString(key) || openKey().MatchString(key) {
		return 0, 0
	}
	from, to = value(text, begin, end)
	if from < to && openValue().MatchString(key+"="+text[from:to]) {
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
			return from, until(text, from, func(c byte) bool { return strings.IndexByte(ends, c) >= 0 })
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
			return at, until(text, at, func(c byte) bool { return strings.IndexByte(" \t\n\"", c) >= 0 })
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
		line := strings.LastIndexByte(text[:begin], '\n') + 1
		return block(text, from, skip(text, line, blanks)-line)
	case strings.IndexByte("|>{#&*!\n", text[from]) >= 0:
		return 0, 0
	case beginsLine(text, begin):
		return from, until(text, from, func(c byte) bool { return c == '\n' })
	case headerKey().MatchString(key):
		return from, until(text, from, func(c byte) bool { return strings.IndexByte("\n\r\"'\\", c) >= 0 })
	case passwordKey().MatchString(key):
		return from, until(text, from, func(c byte) bool { return strings.IndexByte(" \t\n\r\"'\\,}", c) >= 0 })
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

// closing returns the place of the quotation mark that ends a value, that of the end of the
// line or the text if there is none.
func closing(text, mark string, from int) int {
	for at := from; at < len(text); at++ {
		switch {
		case text[at] == '\n', strings.HasPrefix(text[at:], mark):
			return at
		case text[at] == '\\' && mark == `"`:
			at++
		}
	}
	return len(text)
}

// beginsLine reports whether nothing stands before a place in its line but blanks and the mark
// of an item of a YAML list.
func beginsLine(text string, at int) bool {
	line := strings.LastIndexByte(text[:at], '\n') + 1
	return strings.Trim(text[line:at], " \t-") == ""
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
