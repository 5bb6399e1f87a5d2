package filecopy

import (
	"testing"
)

func TestParsePlace(t *testing.T) {
	for text, want := range map[string]Place{
		"file": {"", "file"}, "./a:b": {"", "./a:b"}, "/a:b": {"", "/a:b"}, "../a:b": {"", "../a:b"},
		"web:/etc/hosts": {"web", "/etc/hosts"}, "ns/web/c:etc": {"ns/web/c", "etc"}, "web:a:b": {"web", "a:b"}, ".": {"", "."},
	} {
		if got, err := ParsePlace(text); err != nil || got != want {
			t.Errorf("%q: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", ":/etc", "web:"} {
		if _, err := ParsePlace(text); err == nil {
			t.Errorf("%q is a place", text)
		}
	}
}
