package stream

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
)

func TestParseDetachKeys(t *testing.T) {
	for text, want := range map[string]string{"": "", "ctrl-p,ctrl-q": "\x10\x11", "a,b": "ab", "ctrl-]": "\x1d"} {
		if got, err := ParseKeys(text); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"ctrl", "ctrl-", "strg-p", "ab,", ","} {
		if _, err := ParseKeys(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// What is typed before the keys arrives, the keys do not, and the input does not
// end before the session does.
func TestDetachKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		ctx, out, done := Detachable(t.Context(), in, []byte("\x10\x11"))
		var got []byte
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			got, _ = io.ReadAll(out)
		}()
		for _, key := range []string{"l", "s\r", "\x10", "x", "\x10", "\x11"} {
			if _, err := io.WriteString(typed, key); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), ErrDetached) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		select {
		case <-ended:
			t.Error("the input ended")
		default:
		}
		done()
		<-ended
		if string(got) != "ls\r\x10x" {
			t.Errorf("%q", got)
		}
	})
}
