package attach

import (
	"io"
	"os"
	"strings"
	"testing"
)

func TestWatchdogUndoesSwapOfKilledProcess(t *testing.T) {
	for name, c := range map[string]struct {
		said string
		want string
	}{
		"it was dismissed":         {"bbbd", "parked=runtime cri.sock=trace"},
		"the process died":         {"bb", "cri.sock=runtime"},
		"the process died at once": {"", "cri.sock=runtime"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := sockets(t)
			second, err := OpenSwap(s.Path, s.Parked)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = second.close() }()
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = in.Close() }()
			if err := s.Place(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- RunWatchdog(second, in, io.Discard) }()
			for _, b := range []byte(c.said) {
				if _, err := out.Write([]byte{b}); err != nil {
					t.Fatal(err)
				}
			}
			_ = out.Close()
			if err := <-ended; (err == nil) != strings.HasSuffix(c.said, "d") {
				t.Error(err)
			}
			if got := names(t, s); got != c.want {
				t.Errorf("left %q, want %q", got, c.want)
			}
		})
	}
}
