package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// A client that leaves while its streams are being opened does not leave the runtime
// with a stream that it can never close.
func TestEarlyReplyToLastStream(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("Ctrl-C")
	opened := make(chan httpstream.Stream, 2)
	url := serve(t, func(c net.Conn) {
		readRequest(c)
		_, _ = io.WriteString(c, switching)
		var conn httpstream.Connection
		made := make(chan struct{})
		conn, err := spdy.NewServerConnection(c, func(s httpstream.Stream, _ <-chan struct{}) error {
			if s.Headers().Get(streamType) == streamTypeError {
				return nil
			}
			cancel(left)
			<-made
			select { // the server is slow, but not until the connection ends
			case <-conn.CloseChan():
			case <-time.After(replyTimeout / 50):
			}
			opened <- s
			return nil
		})
		close(made)
		if err != nil {
			t.Error(err)
			return
		}
		<-conn.CloseChan()
	})
	if err := Run(ctx, Session{URL: url, Stdout: io.Discard}); !errors.Is(err, left) {
		t.Errorf("%v", err)
	}
	closed := make(chan struct{})
	go func() {
		_ = (<-opened).Close() // the connection is closed
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(3 * time.Minute):
		t.Error("the server cannot close its stream")
	}
}
