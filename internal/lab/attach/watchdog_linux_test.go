package attach

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

func TestWatchdogThatDoesNotAnswerIsLost(t *testing.T) {
	for name, answers := range map[string]bool{"it answers": true, "it is stopped": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from, to := io.Pipe()
				w := &Watchdog{to: discard{io.Discard}, stop: make(chan struct{}), lost: make(chan struct{})}
				if answers {
					w.to = to
				}
				w.watching.Go(func() { w.watch(from, time.Second, 5*time.Second) })
				time.Sleep(time.Minute)
				select {
				case <-w.Lost():
					if answers {
						t.Error("lost")
					}
				default:
					if !answers {
						t.Error("not lost")
					}
				}
				close(w.stop)
				w.watching.Wait()
				_ = to.Close()
			})
		})
	}
}
