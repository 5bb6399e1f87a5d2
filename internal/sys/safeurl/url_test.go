package safeurl

import (
	"net/url"
	"strings"
	"testing"
)

func TestTextHasSchemeHostAndPathOnly(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com":                      "https://example.com",
		"https://u:p@example.com:80/a%2Fb/c?q=1#f": "https://example.com:80/a%2Fb/c",
		"http://[fe80::1%25eth0]:10255/pods":       "http://[fe80::1%25eth0]:10255/pods",
		"https://u:p@example.com:8o":               "url",
		"https:u:p@example.com":                    "url",
		"u:p@example.com":                          "url",
		"/u:p@example.com":                         "url",
		"":                                         "url",
	} {
		if got := Text(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func FuzzNoUserIsPrinted(f *testing.F) {
	f.Add("https://SECRET:SECRET@example.com:8o/SECRET")
	f.Add("//SECRET@")
	f.Fuzz(func(t *testing.T, address string) {
		u, err := url.Parse(address)
		if err != nil || u.User == nil {
			return
		}
		again, err := url.Parse(Text(address))
		if err != nil || again.User != nil || strings.ContainsAny(Text(address), "?#") {
			t.Errorf("%q: %q", address, Text(address))
		}
	})
}
