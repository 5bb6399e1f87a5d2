package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
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

// YAML writes a value as YAML.
func YAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// A YAML parser refuses control characters that are not escaped.
	if text, err = yaml.JSONToYAML(escapeUnprintable(text)); err != nil {
		return err
	}
	_, err = Raw(w).Write(text)
	return err
}
