package cmdline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHelpIsWrappedBesideTheNames(t *testing.T) {
	long := strings.Repeat("word ", 18) + "end"
	got := columns([]row{
		{"--a", long},
		{"--a-name-that-is-longer-than-the-column NAME", "short"},
		{"--none", ""},
	})
	want := "" +
		"   --a     " + strings.TrimSuffix(strings.Repeat("word ", 18), " ") + "\n" +
		"           end\n" +
		"   --a-name-that-is-longer-than-the-column NAME\n" +
		"           short\n" +
		"   --none\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProseThatIsTooLongGoesOnInTheNextLine(t *testing.T) {
	text := strings.Repeat("word ", 20) + "last\nnext\n\n   " + strings.Repeat("x ", 60) + "\n   example"
	want := margin + strings.TrimSpace(strings.Repeat("word ", 19)) + "\n" + margin + "word last next\n\n" + margin + margin + strings.TrimSpace(strings.Repeat("x ", 47)) + "\n" + margin + margin + strings.TrimSpace(strings.Repeat("x ", 13)) + "\n" + margin + margin + "example\n"
	if got := indented(text); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
