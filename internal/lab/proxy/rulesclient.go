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

	"github.com/podctl/podctl/internal/sys/bounded"
)

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
