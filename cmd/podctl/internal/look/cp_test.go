package look

import (
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pods/filecopy"
)

func TestBarText(t *testing.T) {
	for want, p := range map[string]filecopy.Progress{
		"[###############...............]  50% of 2.0KiB, 512B/s":   {Files: 1, Bytes: 1024, Total: 2048},
		"[##############################] 100% of 2.0KiB, 2.0KiB/s": {Files: 1, Bytes: 4096, Total: 2048},
		"3 files, 1.0KiB, 512B/s":                                   {Files: 3, Bytes: 1024},
	} {
		if got := barText(p, 2*time.Second); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAbsoluteSymlinksAreAnnounced(t *testing.T) {
	r := filecopy.Result{AbsoluteLinks: 1, FirstAbsoluteLink: "web:/data/\x1ba -> /etc/passwd"}
	if got, want := absoluteText(r, true), "absolute symlinks lead to files of this host now: web:/data/\ufffda -> /etc/passwd"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.AbsoluteLinks = 3
	if got, want := absoluteText(r, false), "absolute symlinks lead to files of the container now: web:/data/\ufffda -> /etc/passwd and 2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
