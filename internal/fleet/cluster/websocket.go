package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	gorilla "github.com/gorilla/websocket"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/transport/websocket"

	"github.com/podctl/podctl/internal/cri/stream"
)

const (
	// handshakeTimeout bounds connecting and the handshake.
	handshakeTimeout = 30 * time.Second
	// pingPeriod keeps idle connections open; silence is how long the server may not
	// answer.
	pingPeriod = 5 * time.Second
	silence    = time.Minute
	// closeTimeout bounds the last message.
	closeTimeout = 100 * time.Millisecond
)

// overWebSocket runs a command over the channel protocol v5, the only one that can close
// the input of a command.
func (c *Client) overWebSocket(ctx context.Context, address *url.URL, e Exec) error {
	transport, holder, err := websocket.RoundTripperFor(c.config)
	if err != nil {
		return err
	}
	handshake, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(handshake, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return err
	}
	conn, err := websocket.Negotiate(transport, holder, req, remotecommand.StreamProtocolV5Name)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	s := &channels{conn: conn}
	go s.ping(ctx)
	if e.Stdin != nil {
		go s.sendInput(e.Stdin)
	}
	if e.Sizes != nil {
		go s.sendSizes(e.Sizes)
	}
	return s.receive(e)
}

// channels are the streams of a command in one WebSocket connection: the first byte of
// each message is the stream's number.
type channels struct {
	conn *gorilla.Conn
	// sending serializes messages.
	sending sync.Mutex
}

// receive writes what the command prints, until the connection ends, and returns the
// result.
func (s *channels) receive(e Exec) error {
	s.alive()
	s.conn.SetPongHandler(func(string) error { s.alive(); return nil })
	report := &limitedBuffer{left: maxReport}
	to := map[byte]io.Writer{remotecommand.StreamStdOut: e.Stdout, remotecommand.StreamStdErr: e.Stderr, remotecommand.StreamErr: report}
	for {
		kind, message, err := s.conn.NextReader()
		if err != nil {
			if len(report.text) == 0 && !gorilla.IsCloseError(err, gorilla.CloseNormalClosure) {
				return fmt.Errorf("%w: %w", ErrLost, err)
			}
			return result(report.text)
		}
		s.alive()
		var channel [1]byte
		if _, err := io.ReadFull(message, channel[:]); err != nil || kind != gorilla.BinaryMessage {
			return fmt.Errorf("the server sent a message without a channel")
		}
		w := to[channel[0]]
		if w == nil {
			w = io.Discard
		}
		if _, err := io.Copy(w, message); err != nil {
			return err
		}
	}
}

// alive extends the time for the server's next message.
func (s *channels) alive() { _ = s.conn.SetReadDeadline(time.Now().Add(silence)) }

// ping asks the server for a sign of life until ctx ends.
func (s *channels) ping(ctx context.Context) {
	ticks := time.NewTicker(pingPeriod)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			_ = s.conn.WriteControl(gorilla.PingMessage, nil, time.Now().Add(closeTimeout)) // the reader sees a lost connection
		}
	}
}

// sendInput sends what is read until its end, which it sends, too.
func (s *channels) sendInput(in io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := in.Read(buffer[1:])
		if n > 0 {
			buffer[0] = remotecommand.StreamStdIn
			if s.send(buffer[:n+1]) != nil {
				return
			}
		}
		if err != nil {
			_ = s.send([]byte{remotecommand.StreamClose, remotecommand.StreamStdIn}) // the reader sees a lost connection
			return
		}
	}
}

// sendSizes sends the sizes of the terminal until there are no more.
func (s *channels) sendSizes(sizes *stream.Sizes) {
	for size := sizes.Next(); size != nil; size = sizes.Next() {
		text, err := json.Marshal(size)
		if err != nil || s.send(append([]byte{remotecommand.StreamResize}, text...)) != nil {
			return
		}
	}
}

func (s *channels) send(message []byte) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.conn.WriteMessage(gorilla.BinaryMessage, message)
}

// limitedBuffer keeps what is written to it up to a limit, and fails then.
type limitedBuffer struct {
	text []byte
	left int
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("the report of the command's result is larger than %d KiB", maxReport>>10)
	}
	l.text = append(l.text, p...)
	return len(p), nil
}
