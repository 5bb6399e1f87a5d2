package runview

import (
	"bytes"
	"testing"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
)

// In YAML mode logs go to stderr, which may be a terminal whatever stdout is.
func TestLogsBesideYAMLAreEscaped(t *testing.T) {
	for tty, want := range map[bool]string{true: "default/web/c | red\ufffd[31m\n", false: "default/web/c | red\x1b[31m\n"} {
		var out, errw bytes.Buffer
		s := Screen{Out: output.NewWriter(&out), Errw: output.NewWriter(&errw), ErrTTY: tty}
		New(s, Options{Format: format(t, "yaml")}).Log(LogLine{Namespace: "default", Pod: "web", Container: "c", Text: []byte("red\x1b[31m")})
		if errw.String() != want || out.Len() > 0 {
			t.Errorf("to a terminal %v: %q and %q, want %q", tty, errw.String(), out.String(), want)
		}
	}
}
