package manifest

import (
	"strings"
	"testing"
)

func TestURLUserIsNotPrinted(t *testing.T) {
	for source, want := range map[string]string{
		"pods/web.yaml":                                            "pods/web.yaml",
		"https://example.com/web.yaml":                             "https://example.com/web.yaml",
		"https://ghp_TOKEN@example.com/web.yaml":                   "https://example.com/web.yaml",
		"https://me:TOKEN@example.com:8080/web.yaml":               "https://example.com:8080/web.yaml",
		"https://example.com/web.yaml?X-Amz-Signature=TOKEN#TOKEN": "https://example.com/web.yaml",
		"https://me:TOKEN@example.com:8o/web.yaml":                 "url",
		"https:TOKEN@example.com://web.yaml":                       "url",
	} {
		if got := SourceName(source); got != want {
			t.Errorf("%s is shown as %s, want %s", source, got, want)
		}
	}
	_, err := Load(t.Context(), []string{"https://me:TOKEN/x@example.com/web.yaml", "http://TOKEN@127.0.0.1:1/web.yaml?sig=TOKEN"}, LoadOptions{})
	if err == nil || strings.Contains(err.Error(), "TOKEN") {
		t.Errorf("got %v", err)
	}
}
