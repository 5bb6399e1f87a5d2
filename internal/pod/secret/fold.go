package secret

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A value stands in a text as a syntax writes it: JSON, also in texts of JSON, YAML, a word of a
// shell, a URL, HTML, base64, and any of them in another. The forms are without number: JSON
// alone may write each character in three ways. So the text is folded: what a syntax adds
// (backslashes, quotation marks, blanks, ends of lines) is left out, and an escape becomes what it
// stands for. The value is folded the same way, and is equal then, however it was written.

// escapes are the letters that stand for a control character after a backslash. Both are left
// out, as the character itself is.
const escapes = "nrtvfbae0"

const (
	// maxDepth bounds base64 in base64, and escapes in escapes.
	maxDepth = 3
	// minBase64 is the length of the shortest value in base64.
	minBase64 = (shortest*4 + 2) / 3
)

// view says where a text stands in another one: byte i is at [from[i], to[i]) there. The zero value
// does not say it: a text is looked at without first, since few have a value.
type view struct{ from, to []int32 }

func identity(text string) view {
	v := view{make([]int32, len(text)), make([]int32, len(text))}
	for i := range len(text) {
		v.from[i], v.to[i] = int32(i), int32(i+1)
	}
	return v
}

// empty returns a view of no text, for one of at most n bytes.
func (v view) empty(n int) view {
	if v.from == nil {
		return view{}
	}
	return view{make([]int32, 0, n), make([]int32, 0, n)}
}

// add adds a byte that stands where bytes of another view do.
func (v *view) add(of view, first, last int) {
	if of.from != nil {
		v.from, v.to = append(v.from, of.from[first]), append(v.to, of.to[last])
	}
}

// spans adds spans of the text of the view.
func (v view) spans(of []span, to []span) []span {
	for _, f := range of {
		if v.from != nil {
			f = span{int(v.from[f.from]), int(v.to[f.to-1])}
		}
		to = append(to, f)
	}
	return to
}

// find adds the spans of the text of the view in which values are. Without a view it adds any, and
// none if there is none.
func (m *Mask) find(v view, text string, depth int, found []span) []span {
	found = v.spans(m.plain.in(text), found)
	bare, inner := fold(text, v)
	found = inner.spans(m.folded.in(bare), found)
	if strings.Contains(text, "+") && (depth == 0 && strings.Contains(text, "%") || strings.Contains(text, "%0A")) { // a URL has + for a blank
		found = m.find(v, strings.ReplaceAll(text, "+", " "), depth, found)
	}
	if depth == maxDepth || v.from == nil && len(found) > 0 {
		return found
	}
	for at := 0; at < len(bare); {
		end := until(bare, at, func(c byte) bool { return digits[c] == 0 })
		// What stands before the base64 may look like it: it begins at any of four places.
		for phase := 0; phase < 4 && end-at-phase >= minBase64; phase++ {
			decoded, of := decode(bare, at+phase, end, inner)
			found = m.find(of, decoded, depth+1, found)
		}
		at = end + 1
	}
	return found
}

// digits are the values of the digits of base64, in both of its alphabets, and 1.
var digits = func() (values [256]byte) {
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		values[c] = byte(i + 1)
	}
	values['-'], values['_'] = values['+'], values['/']
	return values
}()

// decode decodes base64 without padding, which is a part of a text.
func decode(text string, at, end int, v view) (string, view) {
	decoded, of := make([]byte, 0, (end-at)*3/4+3), v.empty((end-at)*3/4+3)
	for ; at+1 < end; at += 4 {
		group := text[at:min(at+4, end)]
		bits := uint32(0)
		for i := range 4 {
			if bits <<= 6; i < len(group) {
				bits |= uint32(digits[group[i]] - 1)
			}
		}
		for i := range len(group) - 1 {
			decoded = append(decoded, byte(bits>>(16-8*i)))
			of.add(v, at, at+len(group)-1)
		}
	}
	return string(decoded), of
}

// foldOf is what is left of a text.
func foldOf(text string) string {
	folded, _ := fold(text, view{})
	return folded
}

// fold returns what is left of a text, and where it is. What an escape stands for may be a part
// of another escape: HTML in JSON, JSON in a URL.
func fold(text string, v view) (string, view) {
	for range maxDepth + 1 {
		before := len(text)
		if text, v = foldOnce(text, v); len(text) == before || !strings.ContainsFunc(text, func(r rune) bool { return r < 0x80 && isSyntax[r] }) {
			break
		}
	}
	return text, v
}

func foldOnce(text string, v view) (string, view) {
	out, of := make([]byte, 0, len(text)), v.empty(len(text))
	for at := 0; at < len(text); {
		char, n := text[at], 1
		if !isSyntax[char] {
			out = append(out, char)
			of.add(v, at, at)
			at++
			continue
		}
		var one escaped
		bytes := one[:1]
		switch one[0] = char; char {
		case '\\':
			bytes, n = escape(text[at:], &one)
		case '%':
			n, one[0] = percent(text[at:])
		case '&':
			n, one[0] = entity(text[at:])
		}
		for _, b := range bytes {
			kept := n > 1 || b == '%' || b == '&' || len(out) > 0 && out[len(out)-1] == '\\' // until the next time
			if isSyntax[b] && !kept {
				continue
			}
			out = append(out, b)
			of.add(v, at, at+n-1)
		}
		at += n
	}
	return string(out), of
}

// isSyntax has the characters that are left out, since a syntax may add them, or write them as
// others that are: blanks, control characters, quotation marks and $, which stands before them in a
// shell. Beside them it has those that escapes begin with.
var isSyntax = func() (is [256]bool) {
	for c := range byte(' ' + 1) {
		is[c] = true
	}
	for _, c := range "\x7f\"'`$\\%&" {
		is[c] = true
	}
	return is
}()

// escaped is room for what an escape stands for.
type escaped [1 + utf8.UTFMax]byte

// escape reads backslashes and what they make of what follows them: the more often JSON is
// in JSON, the more of them there are.
func escape(text string, room *escaped) (bytes []byte, n int) {
	n = skip(text, 0, `\`)
	if n == len(text) {
		return nil, n
	}
	one := room[:0]
	if n&(n-1) != 0 { // 1, 2, 4 of them are those of the escape
		one = append(one, '\\')
	}
	number := func(digits, base int) (rune, bool) {
		if n+digits > len(text) {
			return 0, false
		}
		r, err := strconv.ParseUint(text[n:n+digits], base, 31)
		return rune(r), err == nil
	}
	switch c := text[n]; {
	case c == 'u' || c == 'U':
		length := 4
		if c == 'U' {
			length = 8
		}
		n++
		r, ok := number(length, 16)
		if !ok {
			if strings.Contains(text[n:min(len(text), n+length)], `\`) { // its digits are escaped
				return append(room[:0], '\\'), n - 1
			}
			return nil, n - 1
		}
		if n += length; utf16.IsSurrogate(r) {
			before := n
			if n += skip(text[n:], 0, `\`); n > before && n < len(text) && text[n] == 'u' {
				n++
				if low, ok := number(4, 16); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
					return utf8.AppendRune(one, utf16.DecodeRune(r, low)), n + 4
				}
			}
			n = before
		}
		return utf8.AppendRune(one, r), n
	case c == 'x':
		n++
		if r, ok := number(2, 16); ok {
			return append(one, byte(r)), n + 2
		}
		return nil, n - 1
	case c >= '0' && c <= '3':
		if r, ok := number(3, 8); ok {
			return append(one, byte(r)), n + 3
		}
	}
	if strings.IndexByte(escapes, text[n]) >= 0 {
		return nil, n + 1
	}
	return nil, n
}

// percent reads a character as a URL has it; letters and digits are never written so.
func percent(text string) (n int, char byte) {
	n = 1
	for strings.HasPrefix(text[n:], "25") {
		n += 2
	}
	if n+2 > len(text) {
		return n, '%'
	}
	c, err := strconv.ParseUint(text[n:n+2], 16, 8)
	if err != nil || digits[byte(c)] != 0 && c != '+' && c != '/' {
		return n, '%'
	}
	return n + 2, byte(c)
}

// entities are those of XML, and the numbers that Go writes for quotation marks and +.
var entities = map[string]byte{"lt": '<', "gt": '>', "quot": '"', "apos": '\'', "#34": '"', "#39": '\'', "#43": '+', "#38": '&'}

// entity reads a character as HTML has it.
func entity(text string) (n int, char byte) {
	n = 1
	for strings.HasPrefix(text[n:], "amp;") {
		n += len("amp;")
	}
	if end := strings.IndexByte(text[n:min(len(text), n+5)], ';'); end > 0 {
		if c, ok := entities[text[n:n+end]]; ok {
			return n + end + 1, c
		}
	}
	return n, '&'
}
