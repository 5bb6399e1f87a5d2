package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// RulesSocket returns the path of the socket at which a proxy that listens at a path serves
// its rules: HTTP with JSON, GET and POST of /rules. It is a socket of its own because a
// method at the socket of the callers would be open to each of them, and would not be the
// runtime's. Its mode 0600 is the check of who may change rules: the kernel lets
// only its user and root connect, so the peer's credentials say no more.
func RulesSocket(listen string) string { return listen + ".rules" }

// Rule is a rule of a proxy.
type Rule struct {
	Number  int    `json:"number"`  // what --remove takes; no other rule of the proxy ever has it
	Source  string `json:"source"`  // FILE:LINE, --inject or --add
	Rule    string `json:"rule"`    // as --add takes it
	Matched int    `json:"matched"` // calls, or messages of streams
	Fired   int    `json:"fired"`   // of these
}

// RulesRequest changes the rules of a proxy: see rules.Change.
type RulesRequest struct {
	Remove    []int  `json:"remove,omitempty"` // numbers
	RemoveAll bool   `json:"removeAll,omitempty"`
	FileName  string `json:"fileName,omitempty"` // of File, for errors
	File      string `json:"file,omitempty"`     // YAML; its rules are added
	// Add are rules of one line, added after those of File.
	Add []string `json:"add,omitempty"`
}

// Limits of a request, as JSON.
const (
	maxRequest  = 2 * rules.MaxFile // bytes
	maxValues   = 10_000
	maxFileName = 4096 // bytes
)

// readChange reads a RulesRequest.
func readChange(body io.Reader) (c rules.Change, err error) {
	var r RulesRequest
	d := json.NewDecoder(bounded.JSON(body, maxValues))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return c, fmt.Errorf("read request: %w", err)
	}
	if len(r.FileName) > maxFileName {
		return c, fmt.Errorf("read request: a file name of more than %d bytes", maxFileName)
	}
	c = rules.Change{Remove: r.Remove, RemoveAll: r.RemoveAll}
	if c.Add, err = rules.ParseFile(r.FileName, []byte(r.File)); err != nil {
		return c, err
	}
	for _, text := range r.Add {
		rule, err := rules.Parse("--add", text)
		if err != nil {
			return c, err
		}
		c.Add = append(c.Add, rule)
	}
	return c, nil
}

// RulesHandler serves the rules. A request with a mistake changes nothing. changed is told
// of each change, and the number of rules after it.
func (p *Proxy) RulesHandler(changed func(c rules.Change, count int)) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter) int {
		all := []Rule{}
		for _, r := range p.Rules() {
			all = append(all, Rule{r.Number, r.Source, r.Text, r.Matched, r.Fired})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all) // the client may be gone
		return len(all)
	}
	mux.HandleFunc("GET /rules", func(w http.ResponseWriter, _ *http.Request) { answer(w) })
	mux.HandleFunc("POST /rules", func(w http.ResponseWriter, q *http.Request) {
		change, err := readChange(http.MaxBytesReader(w, q.Body, maxRequest))
		if err == nil {
			err = p.Change(change)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		changed(change, answer(w))
	})
	return mux
}

// rulesTimeout bounds a request: a proxy answers from memory.
const rulesTimeout = 10 * time.Second

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 128 << 20

// maxFailure bounds what is shown of an answer that is an error, in bytes: it has the mistake in
// a rule, which may be long.
const maxFailure = 4 << 10

// AskRules returns the rules of the proxy whose RulesSocket is at a path, after a change; nil
// changes nothing. An error means that the proxy has not answered, or has changed nothing.
func AskRules(ctx context.Context, socket string, change *RulesRequest) ([]Rule, error) {
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	method, body := http.MethodGet, []byte(nil)
	if change != nil {
		method = http.MethodPost
		var err error
		if body, err = json.Marshal(change); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://proxy/rules", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("ask proxy: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it is only read
	answer, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask proxy: %w", err)
	case response.StatusCode != http.StatusOK:
		return nil, errors.New(string(bytes.TrimSpace(answer[:min(len(answer), maxFailure)])))
	}
	if err := bounded.CheckJSON(answer, maxValues); err != nil {
		return nil, fmt.Errorf("the answer has %w", err)
	}
	var all []Rule
	err = json.Unmarshal(answer, &all)
	return all, err
}
