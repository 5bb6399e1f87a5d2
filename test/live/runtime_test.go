package live

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLoggedSince(t *testing.T) {
	rt := &Instance{lib: t.TempDir()}
	if lines := rt.Logged("level=error")(); len(lines) > 0 {
		t.Errorf("a runtime without a log has logged %q", lines)
	}
	add := func(text string) {
		f, err := os.OpenFile(filepath.Join(rt.lib, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	add("level=error before\n")
	logged := rt.Logged("level=error", "level=warn")
	add("level=info one\nlevel=warning two\nlevel=error three")
	if got, want := logged(), []string{"level=warning two", "level=error three"}; !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}
