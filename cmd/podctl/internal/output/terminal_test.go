package output

import (
	"strings"
	"testing"
)

func TestTerminalTextHasNoEffectButColors(t *testing.T) {
	for _, c := range []struct{ in, colored, plain string }{
		{"plain\ttext", "plain\ttext", "plain\ttext"},
		{"grün €", "grün €", "grün €"},
		{"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m\x1b[0m", "red"},
		{"\x1b[1;38;5;8mgrey", "\x1b[1;38;5;8mgrey\x1b[0m", "grey"},
		{"\x1b[8mhidden", "�[8mhidden", "�[8mhidden"},
		{"\x1b[0;08mhidden", "�[0;08mhidden", "�[0;08mhidden"},
		{"\x1b[38;2;1;2;8;8mhidden", "�[38;2;1;2;8;8mhidden", "�[38;2;1;2;8;8mhidden"},
		{"\x1b[2J\x1b]0;title\x07", "�[2J�]0;title�", "�[2J�]0;title�"},
		{"a\rb\bc\x00\x7f", "a�b�c��", "a�b�c��"},
		{"\xff\xfe", "��", "��"},
		{"\u202egnp.exe\u009b31m", "�gnp.exe�31m", "�gnp.exe�31m"},
		{"\x1b[" + strings.Repeat("1;", 100) + "m", "�[" + strings.Repeat("1;", 100) + "m", "�[" + strings.Repeat("1;", 100) + "m"},
		{"\x1b[", "�[", "�["},
	} {
		if got := string(TerminalText([]byte(c.in), true)); got != c.colored {
			t.Errorf("%q with colors: %q, want %q", c.in, got, c.colored)
		}
		if got := string(TerminalText([]byte(c.in), false)); got != c.plain {
			t.Errorf("%q: %q, want %q", c.in, got, c.plain)
		}
	}
}
