package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// syntaxes are the ways to write a text in another one. n chooses among those of a syntax.
var syntaxes = map[string]func(t *rapid.T, text string) string{
	"JSON": func(_ *rapid.T, text string) string {
		out, _ := json.Marshal(text)
		return `{"k":` + string(out) + `,"x":1}`
	},
	"JSON without escaped HTML": func(_ *rapid.T, text string) string {
		var out strings.Builder
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		_ = e.Encode([]string{"a", text})
		return out.String()
	},
	"JSON of any encoder": func(t *rapid.T, text string) string {
		var out strings.Builder
		out.WriteString(`["`)
		for _, r := range text {
			how := rapid.IntRange(0, 3).Draw(t, "how")
			switch {
			case r > 0xffff:
				r -= 0x10000
				fmt.Fprintf(&out, `\u%04X\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			case how == 0 || r < ' ' || r == 0x7f:
				fmt.Fprintf(&out, `\u%04x`, r)
			case how == 1:
				fmt.Fprintf(&out, `\u%04X`, r)
			case r == '"' || r == '\\' || r == '/' && how == 2:
				out.WriteString(`\` + string(r))
			default:
				out.WriteRune(r)
			}
		}
		return out.String() + `"]`
	},
	"Go": func(_ *rapid.T, text string) string { return "error: " + strconv.Quote(text) },
	"YAML": func(_ *rapid.T, text string) string {
		out, _ := yaml.Marshal(map[string]any{"a": map[string]string{"k": text}})
		return string(out)
	},
	"YAML, double quotes": func(_ *rapid.T, text string) string {
		out, _ := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: text})
		return "k: " + string(out)
	},
	"YAML, single quotes":  func(_ *rapid.T, text string) string { return "k: '" + strings.ReplaceAll(text, "'", "''") + "'\n" },
	"shell, single quotes": func(_ *rapid.T, text string) string { return "run '" + strings.ReplaceAll(text, "'", `'\''`) + "' x" },
	"shell, double quotes": func(_ *rapid.T, text string) string {
		return `run "` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, `$`, `\$`, "`", "\\`").Replace(text) + `"`
	},
	"shell, backslashes": func(_ *rapid.T, text string) string {
		var out strings.Builder
		for _, r := range text {
			switch {
			case r == '\n':
				out.WriteString(`$'\n'`)
			case r < 0x80 && !isLetter(byte(r)) && !isDigit(byte(r)):
				out.WriteString(`\` + string(r))
			default:
				out.WriteRune(r)
			}
		}
		return "run " + out.String()
	},
	"base64": func(t *rapid.T, text string) string {
		before := rapid.StringMatching(`[ -$'-\[\]-~]{0,4}`).Draw(t, "before")
		encoding := rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}).Draw(t, "encoding")
		return "auth " + encoding.EncodeToString([]byte(before+text+before))
	},
	"base64 in lines": func(t *rapid.T, text string) string {
		coded := base64.StdEncoding.EncodeToString([]byte(text))
		width := rapid.IntRange(4, 76).Draw(t, "width")
		var out strings.Builder
		for ; len(coded) > width; coded = coded[width:] {
			out.WriteString("  " + coded[:width] + "\r\n")
		}
		return out.String() + "  " + coded
	},
	"URL":  func(_ *rapid.T, text string) string { return "https://a.test/?q=" + url.QueryEscape(text) + "&b=1" },
	"HTML": func(_ *rapid.T, text string) string { return "<td>" + html.EscapeString(text) + "</td>" },
}

// A value is not found in a text, in whatever syntaxes it was written there: neither the text nor
// what a reader of these syntaxes has of it.
func TestMaskEveryForm(t *testing.T) {
	names := make([]string, 0, len(syntaxes))
	for name := range syntaxes {
		names = append(names, name)
	}
	// A value has six characters that no syntax may leave out.
	value := rapid.Custom(func(t *rapid.T) string {
		return rapid.StringMatching(`[ -~äß€\n]{0,8}[G-Z][2-9][H-Z][0-9][G-Z][!#-%(-;?-Z][&<>"'\\/=+]{0,3}[ -~ä]{0,30}[G-Z]`).Draw(t, "text")
	})
	rapid.Check(t, func(t *rapid.T) {
		secretValue := value.Draw(t, "value")
		path := rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "syntaxes")
		text := secretValue
		for i, name := range path {
			// + stands for a blank once, and nobody escapes each letter of escapes twice.
			if name != "URL" && name != "JSON of any encoder" || !slices.Contains(path[:i], name) && !slices.Contains(path[:i], "base64 in lines") {
				text = syntaxes[name](t, text)
			}
		}
		masker := NewMasker([][]byte{[]byte(secretValue)}, nil)
		masked := masker.values.Text("before " + text + " after")
		if !strings.Contains(masked, Placeholder) {
			t.Fatalf("%q in %q: %s", secretValue, path, masked)
		}
		if strings.Contains(masked, secretValue) {
			t.Fatalf("%q is in %s", secretValue, masked)
		}
		// What is left of it is at most what stands at its edges.
		if left := foldOf(masked); len(foldOf(secretValue)) > 12 && strings.Contains(left, foldOf(secretValue)[3:len(foldOf(secretValue))-3]) {
			t.Fatalf("%q in %q is left in %s", secretValue, path, masked)
		}
	})
}

// Whatever the values and the text are, the time is linear in the text.
func TestMaskIsLinear(t *testing.T) {
	long := strings.Repeat("a", 64<<10) + "b"
	values := [][]byte{[]byte(long), []byte(strings.Repeat("ab", 1<<15) + "c"), []byte("pa&word-of-somebody")}
	var nested strings.Builder
	for range 1 << 10 {
		nested.WriteString(base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(`{"a":"aaaaaaaa"}`)))))
	}
	for name, unit := range map[string]string{
		"of a value": "a", "of two": "ab", "backslashes": `\`, "escapes": `\u0061`, "quotes": `"'`, "base64": nested.String(), "percent": "%25", "entities": "&amp;",
		"names": "password", "names and colons": "password: ", "names and =": "pass=", "flags": "--token ", "programs": "mysql ", "program and flag": `mysql","-p`, "urls": "a://u:p", "urls, long": "://x:y",
		"ats": "@tcp(", "keys": "-----BEGIN PRIVATE KEY", "jwt": "eyJ", "tokens": "ghp_", "bearer": "Bearer ", "blocks": "password: |\n x\n", "lists": `token: [`, "quotes after": `"token":"\\`,
		"variables": "A_TOKEN=", "dashes": "- - - password", "pem": "-----BEGIN", "value after": `"TOKEN",`,
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(unit, 1+(1<<17)/len(unit))
			began := time.Now()
			NewMasker(values, nil).Text(text)
			if took := time.Since(began); took > 10*time.Second { // milliseconds; hours if it is not
				t.Errorf("%d bytes took %s", len(text), took)
			}
		})
	}
}
