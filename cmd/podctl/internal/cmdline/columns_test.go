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
