package manifest

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// This file has the hints for what looks like a manifest and is none: text that was copied
// with characters that nobody sees, and templates that were not filled in.

// invisibleHint says what to do about an invisible character.
const invisibleHint = "type it again: text that is copied from a page or a chat can have such characters"

// isInvisible reports whether a character cannot be seen, or cannot be told from a space.
func isInvisible(r rune) bool {
	return r != ' ' && (unicode.Is(unicode.Zs, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Cf, r))
}

// firstInvisible names the first invisible character of a text, "" if it has none.
func firstInvisible(text string) string {
	i := strings.IndexFunc(text, isInvisible)
	if i < 0 {
		return ""
	}
	r := []rune(text[i:])[0]
	name := "an invisible character"
	switch r {
	case '\u00a0', '\u202f', '\u2007':
		name = "a no-break space"
	case '\u200b':
		name = "a zero-width space"
	case '\ufeff':
		name = "a byte-order mark"
	}
	return fmt.Sprintf("%s (U+%04X)", name, r)
}

// invisibleKey returns what is wrong with the first key of a document that has an invisible
// character, nil if none has.
func invisibleKey(doc map[string]any, at *positions) *Problem {
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		what := firstInvisible(key)
		switch {
		case what == "":
			continue
		case strings.TrimLeftFunc(key, isInvisible) != key:
			return &Problem{Line: at.find(path{}.field(key)).line, Message: what + inIndentation, Hint: "indent with spaces"}
		}
		return &Problem{Line: at.find(path{}.field(key)).line, Field: escapeInvisible(key), Message: "the key has " + what, Hint: invisibleHint}
	}
	return nil
}

// inIndentation is where an invisible character of an indentation is.
const inIndentation = " in the indentation, which YAML takes for text"

// unexpectedInvisible names an invisible character at either end of a value, or one without width
// anywhere in it: a no-break space between words may be meant.
func unexpectedInvisible(text string) string {
	trimmed := strings.TrimFunc(text, isInvisible)
	if trimmed != text {
		return firstInvisible(strings.Replace(text, trimmed, "", 1))
	}
	for _, r := range text {
		if r == '\u200b' || r == '\ufeff' || r == '\u2060' {
			return firstInvisible(string(r))
		}
	}
	return ""
}

// escapeInvisible writes invisible characters as their numbers.
func escapeInvisible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if isInvisible(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// misplacedInvisible returns the first line, from 1, on which an invisible character is in the
// indentation, or after the dash of an item or the colon of a key, and what to say of it; 0 if
// there is none. In the text of a block scalar it may be meant.
func misplacedInvisible(text []byte) (line int, message string) {
	for i, l := range bytes.Split(text, []byte("\n")) {
		indent := l[:len(l)-len(bytes.TrimLeftFunc(l, func(r rune) bool { return r == ' ' || isInvisible(r) }))]
		if what := firstInvisible(string(indent)); what != "" && len(indent) < len(l) {
			return i + 1, what + inIndentation
		}
		if match := afterMark().FindSubmatch(l); match != nil {
			if what := firstInvisible(string(match[1])); what != "" {
				return i + 1, what + " where YAML needs a space"
			}
		}
	}
	return 0, ""
}

// afterMark finds the character after the dash of an item, or after that of a key.
var afterMark = lazyregexp.New(`^ *(?:- *)*(?:-|[\w./-]+:)([^ \w])`)

// templates are the marks of templates that were not filled in, the certain ones first.
var templates = []struct {
	mark func() *regexp.Regexp
	hint string
}{
	{lazyregexp.New(`\{%`), "this is a Jinja template, as of Ansible: render it first"},
	{lazyregexp.New(`\{\{[^}]*(\.Values|\.Release|\.Chart|include |tpl |toYaml)`), "this is a template of a Helm chart: helm template CHART | podctl run -"},
	{lazyregexp.New(`\{\{|\[\[`), "this is a template, not a manifest: render it first"},
	{lazyregexp.New(`\$\{?[A-Za-z_]`), "this is a variable of a template: fill it in first, as envsubst < FILE | podctl run - does"},
	{lazyregexp.New(`@[A-Za-z_][\w.-]*@|%[A-Za-z_]\w*%|<[A-Za-z][^<>]*>|__[A-Z][A-Z_]*__`), "this is the placeholder of a template: write a value in its place"},
}

// templateHint says what a text with the marks of a template is, "" if it has none.
func templateHint(text string) string {
	for _, t := range templates {
		if t.mark().MatchString(text) {
			return t.hint
		}
	}
	return ""
}

var (
	// unfilled matches what is nothing but a placeholder.
	unfilled = lazyregexp.New(`^(\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|@[A-Za-z_][\w.-]*@|%[A-Za-z_]\w*%|<[A-Za-z][\w .-]*>|__[A-Z][A-Z_]*__|\{\{[^{}]*\}\}|\[\[[^][]*\]\])$`)
	// unquoted matches a placeholder at the beginning of a value, where YAML cannot read it.
	unquoted = lazyregexp.New(`(?:[:,[{-]\s+|\[)(@\w+@|%\w+%|\$\{\w+\})`)
)

// isUnfilled reports whether a value is nothing but a placeholder. YAML reads [[ x ]] as lists.
func isUnfilled(v any) bool {
	switch v := v.(type) {
	case string:
		return unfilled().MatchString(v)
	case []any:
		if len(v) == 1 {
			inner, nested := v[0].([]any)
			return nested && len(inner) == 1
		}
	}
	return false
}

// syntaxHint explains a syntax error on a line, from 1, of a text that is a template.
func syntaxHint(text []byte, line int) string {
	all := withoutComments(text)
	for _, t := range templates[:3] {
		if mark := t.mark().FindString(all); strings.HasPrefix(mark, "{") { // [[ may be lists
			return t.hint
		}
	}
	for l := range bytes.Lines(text) {
		if line--; line > 0 {
			continue
		}
		if found := unquoted().FindSubmatch(l); found != nil {
			return templateHint(string(found[1]))
		}
		break
	}
	return ""
}

// withoutComments returns a text without the lines that are comments.
func withoutComments(text []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			b.Write(line)
		}
	}
	return b.String()
}
