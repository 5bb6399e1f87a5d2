package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/hint"
)

// readTimeout bounds what a Client only reads: a podctl answers from memory.
const readTimeout = 5 * time.Second

// startTimeout bounds Start, which writes a small file and waits for nothing.
const startTimeout = 10 * time.Second

// Bounds of an answer and of each event, because any process may listen on a socket: its
// size in bytes and, because a few bytes may decode to a kilobyte, the number of its values
// and pods. A thousand pods have a few hundred thousand values, in a few megabytes.
const (
	maxAnswer = 256 << 20
	maxValues = 1_000_000
	maxPods   = 10_000
)

// ErrNotFound: the instance has no such pod.
var ErrNotFound = errors.New("not found")

// Dialer connects to a socket. nil means the machine's own unix sockets.
type Dialer func(ctx context.Context, path string) (net.Conn, error)

// Find returns a client for each live podctl process that has a socket in dir, by
// name: none if dir does not exist.
func Find(dir string, dial Dialer) ([]*Client, error) {
	_, clients, err := FindInstances(dir, dial)
	return clients, err
}

// FindInstances is like Find and also returns all live instances of dir, with or without a
// socket. It reads the directory once.
func FindInstances(dir string, dial Dialer) (living []owner.Holder, clients []*Client, err error) {
	if err := owner.CheckDir(dir); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, nil, err
	}
	living, err = owner.LiveInstances(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil, hint.Errorf("their sockets belong to root: run podctl as root, for instance with sudo", "find podctl processes: %w", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find podctl processes: %w", err)
	}
	for _, h := range living {
		path := Path(dir, h.Name)
		if _, err := os.Lstat(path); err == nil {
			clients = append(clients, Process{Name: h.Name, Socket: path}.Client(dial))
		}
	}
	return living, clients, nil
}

// Process names a podctl process that has a control socket. It is a value: Client
// returns what talks to the process.
type Process struct {
	// Name is the instance under which the process owns pods.
	Name string
	// ID is unique to the process (see owner.Holder): "" until it has answered.
	ID string
	// Socket is the path of its control socket.
	Socket string
}

// Client returns a client of the process. A nil dial connects to the machine's own unix
// sockets.
func (p Process) Client(dial Dialer) *Client {
	if dial == nil {
		dial = dialUnix
	}
	return &Client{process: p, limit: maxAnswer, http: &http.Client{Transport: &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, p.Socket) },
		DisableKeepAlives:  true, // a client asks once or twice
		DisableCompression: true,
	}}}
}

// Client talks to one podctl process. It is safe for concurrent use.
type Client struct {
	process Process
	http    *http.Client
	// limit bounds an answer, in bytes.
	limit int64
	// id and settled are those of the last answer.
	id      atomic.Value
	settled atomic.Bool
}

func dialUnix(ctx context.Context, path string) (net.Conn, error) {
	near, done, err := shortAddress(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", near)
}

// Instance returns the name under which the podctl process owns pods.
func (c *Client) Instance() string { return c.process.Name }

// Process returns the process, with the id of the last answer.
func (c *Client) Process() Process {
	p := c.process
	p.ID, _ = c.id.Load().(string)
	return p
}

// Settled reports whether the process knew all pods that it owns when it answered last:
// see Host.
func (c *Client) Settled() bool { return c.settled.Load() }

// Get returns the body of a path such as /metrics or /healthz. An answer other than 200 is
// an error with its text.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	body, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, c.limit+1))
	if err == nil && int64(len(b)) > c.limit {
		err = fmt.Errorf("the answer is larger than %d bytes", c.limit)
	}
	return b, c.wrap(path, err)
}

// Events calls opened and then each for every event, until ctx ends or the process exits;
// its exit is no error.
func (c *Client) Events(ctx context.Context, opened func(), each func(Event)) error {
	body, err := c.do(ctx, http.MethodGet, "/events", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	opened()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, int(c.limit))
	for lines.Scan() {
		var ev Event
		if err := decode(lines.Bytes(), &ev); err != nil {
			return c.wrap("/events", err)
		}
		each(ev)
	}
	return c.wrap("/events", lines.Err())
}

func (c *Client) read(ctx context.Context, path string, into any) error {
	b, err := c.Get(ctx, path)
	if err != nil {
		return err
	}
	return c.wrap(path, decode(b, into))
}

func decode(answer []byte, into any) error {
	if err := bounded.CheckJSON(answer, maxValues); err != nil {
		return fmt.Errorf("the answer has %w", err)
	}
	return json.Unmarshal(answer, into)
}

func (c *Client) post(ctx context.Context, path string, req any) error {
	b, err := json.Marshal(req)
	if err != nil {
		return err
	}
	body, err := c.do(ctx, http.MethodPost, path, b)
	if err != nil {
		return err
	}
	return body.Close()
}

// do sends a request; the caller closes the answer's body.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://podctl"+path, bytes.NewReader(body))
	if err != nil {
		return nil, c.wrap(path, err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.wrap(path, err)
	}
	c.id.Store(res.Header.Get(idHeader))
	c.settled.Store(res.Header.Get(settledHeader) != "")
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxBody)) // the status says enough
	return nil, refusalOf(res.StatusCode, text)
}

func (c *Client) wrap(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ask podctl %q for %s: %w", c.process.Name, path, err)
}

// refusal is the answer of a podctl process that did not carry out an order, in its own
// words.
type refusal struct {
	text     string
	notFound bool
}

// refusalOf returns the error, with the hint of the podctl process, for an answer with an
// HTTP status.
func refusalOf(code int, text []byte) error {
	var body errorBody
	if json.Unmarshal(text, &body) != nil || body.Error == "" {
		body.Error = string(bytes.TrimSpace(text))
	}
	return hint.With(&refusal{body.Error, code == http.StatusNotFound}, body.Hint)
}

func (e *refusal) Error() string { return e.text }

// Is reports whether target is ErrNotFound and the process has no such pod.
func (e *refusal) Is(target error) bool { return target == ErrNotFound && e.notFound }
