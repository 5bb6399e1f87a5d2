package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
)

// Session is a running command.
type Session struct {
	// Context ends with the connection, or when the server closes.
	Context   context.Context
	Container string
	Args      []string
	TTY       bool
	// Stdin is nil if it is not connected.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Sizes are those of the terminal, as JSON.
	Sizes <-chan string
	// Report, if not nil, writes what is sent in place of the result; Lost: nothing is
	// sent.
	Report func(w io.Writer)
	Lost   bool
}

// exec runs the command of a node.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	node := s.nodes[strings.TrimPrefix(r.PathValue("pod"), "inspector-")]
	if node == nil || node.Run == nil {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.inFlight++
	s.peak = max(s.peak, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	query := r.URL.Query()
	session := &Session{Container: query.Get("container"), Args: query["command"], TTY: query.Get("tty") == "true"}
	if s.options.NoWebSocket {
		http.Error(w, "no WebSocket here", http.StatusBadRequest)
		return
	}
	s.execWebSocket(w, r, node, session, query.Get("stdin") == "true")
}

// execWebSocket serves the channel protocol v5.
func (s *Server) execWebSocket(w http.ResponseWriter, r *http.Request, node *Node, session *Session, stdin bool) {
	upgrader := websocket.Upgrader{Subprotocols: []string{constants.StreamProtocolV5Name}}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(s.ending)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c := &channels{conn: conn}
	in, typed := io.Pipe()
	sizes := make(chan string, 16)
	go func() {
		defer cancel()
		c.receive(typed, sizes)
	}()
	session.Context, session.Sizes = ctx, sizes
	if stdin {
		session.Stdin = in
	}
	session.Stdout, session.Stderr = c.to(constants.StreamStdOut), c.to(constants.StreamStdErr)
	code := node.Run(session)
	report := c.to(constants.StreamErr)
	switch {
	case session.Lost:
	case session.Report != nil:
		session.Report(report)
	default:
		_ = json.NewEncoder(report).Encode(status(code))
	}
	_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
}

// status returns the report of an exit code.
func status(code int) metav1.Status {
	if code == 0 {
		return metav1.Status{Status: metav1.StatusSuccess}
	}
	return metav1.Status{
		Status: metav1.StatusFailure, Reason: constants.NonZeroExitCodeReason,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: constants.ExitCodeCauseType, Message: fmt.Sprint(code)}}},
	}
}

type channels struct {
	conn *websocket.Conn
	mu   sync.Mutex
}

// receive reads what the client sends until the connection ends.
func (c *channels) receive(in *io.PipeWriter, sizes chan<- string) {
	defer in.Close()
	for {
		_, message, err := c.conn.ReadMessage()
		switch {
		case err != nil:
			return
		case len(message) == 0:
		case message[0] == constants.StreamStdIn:
			_, _ = in.Write(message[1:])
		case message[0] == constants.StreamResize:
			sizes <- string(message[1:])
		case message[0] == constants.StreamClose:
			_ = in.Close()
		}
	}
}

// channel is one stream to the client.
type channel struct {
	*channels
	number byte
}

func (c *channels) to(number byte) channel { return channel{c, number} }

func (c channel) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, err := c.conn.NextWriter(websocket.BinaryMessage)
	if err != nil {
		return 0, err
	}
	_, err = w.Write([]byte{c.number})
	if err == nil {
		_, err = w.Write(p)
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	return len(p), err
}
