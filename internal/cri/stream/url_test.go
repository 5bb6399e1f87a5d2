package stream

import (
	"net/netip"
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	local := func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.1") }
	for text, problem := range map[string]string{
		"http://127.0.0.1:40001/exec/abc":                 "",
		"http://[::1]:40001/exec/abc":                     "",
		"http://localhost:40001/exec/abc":                 "",
		"http://0.0.0.0:40001/exec/abc":                   "",
		"http://[::ffff:127.0.0.1]:40001/exec/abc":        "",
		"https://192.0.2.1:10010/exec/abc":                "",
		"http://192.0.2.2:40001/exec/abc":                 "not an address of this host",
		"http://example.com:80/exec/abc":                  "its host is not an IP address",
		"http://localhost.example.com:80/exec/abc":        "its host is not an IP address",
		"http://127.0.0.1:1@192.0.2.2:80/exec":            "it has a user",
		"http://127.0.0.1/exec/abc":                       "no port",
		"unix:///run/x.sock":                              "neither http nor https",
		"file:///etc/shadow":                              "neither http nor https",
		"":                                                "neither http nor https",
		"http://127.0.0.1:40001/\x00":                     "not a URL",
		"http://127.0.0.1:1/" + strings.Repeat("a", 5000): "longer than 4096 bytes",
	} {
		_, err := checkURL(text, local)
		switch {
		case problem == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case err != nil && strings.Contains(err.Error(), "http://127.0.0.1:1@"):
			t.Errorf("%q: its user is printed: %v", text, err)
		case problem != "" && (err == nil || !strings.Contains(err.Error(), problem)):
			t.Errorf("%q: %v, want %s", text, err, problem)
		}
	}
}

// FuzzCheckURL: a URL that is accepted leads to this host.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"http://127.0.0.1:1/exec/a", "https://[fe80::1%25lo]:1/", "http://localhost:1", "http://1.2.3.4:5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := checkURL(text, func(netip.Addr) bool { return false })
		if err != nil || u.Hostname() == "localhost" {
			return
		}
		if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.Unmap().IsLoopback() && !a.Unmap().IsUnspecified() {
			t.Errorf("%q leads to %q", text, u.Hostname())
		}
	})
}
