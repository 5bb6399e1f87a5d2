package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// JSON writes a value, indented.
func JSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// JSONLine writes a value on one line.
func JSONLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := Raw(w).Write(escapeUnprintable(text.Bytes()))
	return err
}

// jsonList writes an array as JSON does, item by item: a list of many nodes is large.
func jsonList(w io.Writer, items []any) error {
	if len(items) == 0 {
		return JSON(w, []any{})
	}
	to := bufio.NewWriterSize(Raw(w), chunk)
	separator := "[\n  "
	for _, item := range items {
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetIndent("  ", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(item); err != nil {
			return err
		}
		_, _ = to.WriteString(separator) // Flush returns the error
		_, _ = to.Write(escapeUnprintable(bytes.TrimSuffix(text.Bytes(), []byte("\n"))))
		separator = ",\n  "
	}
	_, _ = to.WriteString("\n]\n")
	return to.Flush()
}

// chunk is the size of the writes of a large list, in bytes.
const chunk = 64 << 10

// escapeUnprintable escapes the characters that encoding/json leaves in strings
// and a terminal may obey: DEL, C1 control characters, bidirectional overrides.
func escapeUnprintable(text []byte) []byte {
	unprintable := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if !bytes.ContainsFunc(text, unprintable) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch high, low := utf16.EncodeRune(r); {
		case !unprintable(r):
			b.WriteRune(r)
		case high != unicode.ReplacementChar:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// rawInYAML are characters that YAML prints as they are, in any style, and a terminal
// may obey. A control character before each makes YAML quote the scalar and escape that
// character: markedInYAML are both, as they are then printed.
var (
	rawInYAML    = lazyregexp.New(`[^\x00-\x{9f}\pL\pM\pN\pP\pS\x{2028}\x{2029}\x{feff}\x{fffe}\x{ffff}\x{10000}-\x{10ffff}]`)
	beyond16Bits = lazyregexp.New(`[\x{10000}-\x{10ffff}]`)
	markedInYAML = lazyregexp.New(`\\x01[^\x00-\x{9f}\pL\pM\pN\pP\pS]`)
)

// YAML writes a value as YAML.
func YAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// JSON's text is parsed as YAML, whose parser refuses control characters, and the
	// two halves in which JSON escapes what is beyond 16 bits.
	text = rawInYAML().ReplaceAll(text, []byte(`\u0001$0`))
	text = beyond16Bits().ReplaceAllFunc(text, func(long []byte) []byte {
		r, _ := utf8.DecodeRune(long)
		return fmt.Appendf(nil, `\U%08x`, r)
	})
	if text, err = yaml.JSONToYAML(escapeUnprintable(text)); err != nil {
		return err
	}
	_, err = Raw(w).Write(markedInYAML().ReplaceAllFunc(text, func(marked []byte) []byte {
		r, _ := utf8.DecodeRune(marked[len(`\x01`):])
		return fmt.Appendf(nil, `\u%04x`, r)
	}))
	return err
}
