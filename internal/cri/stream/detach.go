package stream

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/moby/term"
)

// DefaultDetachKeys are those of docker and podman.
const DefaultDetachKeys = "ctrl-p,ctrl-q"

// ErrDetached: the user typed the detach keys.
var ErrDetached = errors.New("detached")

// ParseKeys parses a sequence of keys: characters and ctrl-CHARACTER, separated
// by commas. "" is none.
func ParseKeys(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	keys, err := term.ToBytes(text)
	if err != nil {
		return nil, fmt.Errorf("detach keys %q are not characters or ctrl-CHARACTER, separated by commas", text)
	}
	return keys, nil
}

// Detachable returns a reader of what is typed and a context that ends with the
// cause ErrDetached at the keys. At the keys, Read blocks until done is called,
// which has to happen after the session: the end of the input would end a shell.
func Detachable(ctx context.Context, in io.Reader, keys []byte) (_ context.Context, _ io.Reader, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &detachReader{in: term.NewEscapeProxy(in, keys), detach: cancel, done: make(chan struct{})}
	return ctx, d, func() {
		cancel(nil)
		close(d.done)
	}
}

type detachReader struct {
	in     io.Reader
	detach context.CancelCauseFunc
	done   chan struct{}
}

func (d *detachReader) Read(p []byte) (int, error) {
	n, err := d.in.Read(p)
	if _, typed := errors.AsType[term.EscapeError](err); typed {
		d.detach(ErrDetached)
		<-d.done
		return 0, io.EOF
	}
	return n, err
}
