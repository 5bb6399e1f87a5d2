//go:build unix

package podsync

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestParseEnv(t *testing.T) {
	for _, c := range []struct {
		text, want string
		wrong      bool
	}{
		{text: "", want: ""},
		{text: "K='v'", want: "v"},
		{text: "# c\n\n \t\n  K='v' # c\n", want: "v"},
		{text: "A='1'\nK='a b=\"c\" $x \\n # no'\nK='second'\n", want: `a b="c" $x \n # no`},
		{text: "K='one\ntwo\n\nthree'\n", want: "one\ntwo\n\nthree"},
		{text: "A='K=\nK=\n'\nK='v'", want: "v"},
		{text: "K= 'v'\n", want: ""},
		{text: "A= 'v'\nK='v'\n", want: "v"},
		{text: "k='v'\n", want: ""},
		{text: "K='v'\nnot looked at", want: "v"},
		{text: "K='v'\r\n", want: "v"},
		{text: "K=v\n", wrong: true},
		{text: "K=\"v\"\n", wrong: true},
		{text: "K =  'v'\n", wrong: true},
		{text: "='v'\n", wrong: true},
		{text: "export\nK='v'\n", wrong: true},
		{text: "K='v'w\n", wrong: true},
		{text: "A='v\nK='v'\n", wrong: true},
		{text: "K='v\n", wrong: true},
		{text: "K=", wrong: true},
	} {
		got, err := parseEnv(c.text, "K")
		if got != c.want || (err != nil) != c.wrong {
			t.Errorf("%q: got %q, %v; want %q, an error: %v", c.text, got, err, c.want, c.wrong)
		}
	}
}

// A container may put anything where its file is expected.
func TestEnvFileStaysBelowVolume(t *testing.T) {
	dir := t.TempDir()
	volume := filepath.Join(dir, "volume")
	if err := os.MkdirAll(filepath.Join(volume, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"outside": "host", "volume/sub/file": "inside", "volume/large": strings.Repeat("x", maxEnvFile+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"up": "../outside", "absolute": filepath.Join(dir, "outside"), "within": "sub/file", "dir": ".."} {
		if err := os.Symlink(to, filepath.Join(volume, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(volume, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"sub/file": "inside", "within": "inside",
		"up": "", "absolute": "", "dir/outside": "", "../outside": "", "pipe": "", "sub": "", "large": "", "none": "",
	} {
		if got, err := readBelow(volume, name); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
}
