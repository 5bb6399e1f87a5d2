package output

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// TerminalText returns text that a container wrote as it may reach a terminal: each
// control character, tabs excepted, and what is not UTF-8 becomes a replacement
// character. Sequences that set colors and the like remain if colors is true, and
// are ended at the end of the text; else they are removed. The result may be text
// itself.
func TerminalText(text []byte, colors bool) []byte {
	i := 0
	for i < len(text) && (text[i] >= ' ' && text[i] < 0x7f || text[i] == '\t') {
		i++
	}
	if i == len(text) {
		return text
	}
	clean := append(make([]byte, 0, len(text)+len(Plain)), text[:i]...)
	colored := false
	for i < len(text) {
		if n := colorSequence(text[i:]); n > 0 {
			if colors {
				clean, colored = append(clean, text[i:i+n]...), true
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r != '\t' && !unicode.IsPrint(r) {
			r = replacement
		}
		clean = utf8.AppendRune(clean, r)
		i += n
	}
	if colored {
		clean = append(clean, Plain...)
	}
	return clean
}

// maxSequence is more than any sequence of colors needs.
const maxSequence = 64

// colorSequence returns the length of the sequence at the beginning of text that
// selects a graphic rendition, 0 if there is none or it conceals text.
func colorSequence(text []byte) int {
	if !bytes.HasPrefix(text, []byte("\x1b[")) {
		return 0
	}
	for i, c := range text[2:min(len(text), maxSequence)] {
		switch {
		case c == 'm' && !conceals(text[2:2+i]):
			return 2 + i + 1
		case c < '0' || c > ';':
			return 0
		}
	}
	return 0
}

// conceals reports whether the parameters contain the one that hides text, outside
// of the description of a color.
func conceals(parameters []byte) bool {
	fields := bytes.FieldsFunc(parameters, func(r rune) bool { return r == ';' || r == ':' })
	for i := 0; i < len(fields); i++ {
		switch string(bytes.TrimLeft(fields[i], "0")) {
		case "8":
			return true
		case "38", "48", "58":
			if i+1 < len(fields) && string(fields[i+1]) == "5" {
				i += 2
			} else if i+1 < len(fields) && string(fields[i+1]) == "2" {
				i += 4
			}
		}
	}
	return false
}

// The escape sequences that color a line on a terminal. A color is never the
// only sign of what it says.
const (
	Red    = "\x1b[31m"
	Yellow = "\x1b[33m"
	Plain  = "\x1b[0m"
)
