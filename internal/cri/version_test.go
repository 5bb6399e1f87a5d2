package cri

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a runtime says of itself, and why a call failed, is bounded.
func TestTextsOfTheRuntimeAreBounded(t *testing.T) {
	long := "begins " + strings.Repeat("é", maxText) + " cause"
	for _, limit := range []int{maxName, maxText} {
		if got := shortened(long, limit); len(got) > limit+8 || !strings.HasPrefix(got, "begins ") || !strings.HasSuffix(got, " cause") || !utf8.ValidString(got) {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
	e := classify(failure{method: "Version", err: status.Error(codes.Unknown, long)})
	if got := e.RuntimeMessage(); len(got) > maxText+8 || !strings.HasSuffix(got, " cause") {
		t.Errorf("%d bytes", len(got))
	}
	if got := shortened("containerd", maxName); got != "containerd" {
		t.Error(got)
	}
}
