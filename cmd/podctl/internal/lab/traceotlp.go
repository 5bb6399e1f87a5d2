package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/sys/safeurl"
)

const (
	// otlpPeriod is how often spans are sent, otlpBatch how many at once.
	otlpPeriod = time.Second
	otlpBatch  = 500
	// otlpWaiting bounds the spans that wait for the collector.
	otlpWaiting = 20_000
	// otlpTimeout bounds a request, and the last ones together.
	otlpTimeout = 5 * time.Second
)

// otlpPrinter sends calls as spans to a collector. It never blocks a call.
type otlpPrinter struct {
	destination
	url     *url.URL
	session uint64
	runtime string

	mu      sync.Mutex
	waiting []trace.Span // of entries, whose messages are not kept
	dropped int
	warning string // the last one

	done    chan struct{}
	sending sync.WaitGroup
}

func newOTLPPrinter(e *shell.Env, to *url.URL, runtime string) *otlpPrinter {
	return &otlpPrinter{destination: destination{Writer: e.Out, env: e}, url: to, session: rand.Uint64(), runtime: runtime, done: make(chan struct{})}
}

func (p *otlpPrinter) begin() error {
	p.sending.Go(func() {
		ticks := time.NewTicker(otlpPeriod)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				p.send(otlpTimeout)
			case <-p.done:
				p.send(otlpTimeout)
				return
			}
		}
	})
	return nil
}

func (p *otlpPrinter) entry(e *trace.Entry) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.InFlight: // it has no end yet
	case len(p.waiting) == otlpWaiting:
		p.dropped++
	default:
		p.waiting = append(p.waiting, e.Span(p.session))
	}
	return nil
}

// send sends what waits. Spans that a collector does not take are lost.
func (p *otlpPrinter) send(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		p.mu.Lock()
		n := min(len(p.waiting), otlpBatch)
		batch := p.waiting[:n]
		p.waiting = p.waiting[n:]
		p.mu.Unlock()
		if n == 0 {
			return
		}
		err := p.post(ctx, trace.OTLP(batch, p.runtime))
		p.mu.Lock()
		if err != nil {
			p.dropped += n
			err = fmt.Errorf("send spans to %s: %w", safeurl.Text(p.url.String()), err)
		}
		p.env.WarnOnce(&p.warning, err)
		p.mu.Unlock()
	}
}

// otlpClient follows no redirect: spans go to the collector that the user names.
var otlpClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// maxOTLPAnswer bounds what is read of an answer.
const maxOTLPAnswer = 64 << 10

func (p *otlpPrinter) post(ctx context.Context, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url.String(), bytes.NewReader(text))
	if err != nil {
		return safeurl.Cause(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := otlpClient.Do(request)
	if err != nil {
		return safeurl.Cause(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxOTLPAnswer)) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", response.Status)
	}
	return nil
}

// summary is text: a collector makes its own.
func (p *otlpPrinter) summary(_ time.Time, s summaryData) error {
	_, err := io.WriteString(p.Writer, s.text())
	return err
}

func (p *otlpPrinter) close() error {
	close(p.done)
	p.sending.Wait()
	if p.dropped > 0 {
		return fmt.Errorf("%s did not reach the collector", output.Plural(p.dropped, "span"))
	}
	return nil
}
