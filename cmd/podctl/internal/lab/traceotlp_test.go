package lab

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/trace"
)

// collect returns a printer that sends to a collector with the given answer, and how many
// spans that got.
func collect(t *testing.T, errw *strings.Builder, code int) (*otlpPrinter, *atomic.Int64) {
	t.Helper()
	var spans atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []any } }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
			return
		}
		spans.Add(int64(len(body.ResourceSpans[0].ScopeSpans[0].Spans)))
		w.WriteHeader(code)
	}))
	t.Cleanup(server.Close)
	to, err := otlpURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := newOTLPPrinter(&shell.Env{Out: errw, Errw: errw}, to, "unix:///run/cri.sock")
	return p, &spans
}

func TestSpansReachTheCollectorInBatches(t *testing.T) {
	var errw strings.Builder
	p, spans := collect(t, &errw, http.StatusOK)
	if err := p.begin(); err != nil {
		t.Fatal(err)
	}
	for range otlpBatch + 10 {
		if err := p.entry(&trace.Entry{Method: "Version"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.entry(&trace.Entry{Method: "Version", InFlight: true}); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil || spans.Load() != otlpBatch+10 || errw.Len() > 0 {
		t.Errorf("%d spans, %v, %s", spans.Load(), err, errw.String())
	}
}

func TestSpansThatACollectorRefusesAreCounted(t *testing.T) {
	var errw strings.Builder
	p, _ := collect(t, &errw, http.StatusUnauthorized)
	for range otlpWaiting + 1 {
		if err := p.entry(&trace.Entry{Method: "Version"}); err != nil {
			t.Fatal(err)
		}
	}
	p.send(time.Minute)
	if err := p.close(); err == nil || !strings.Contains(err.Error(), "20001 spans did not reach the collector") {
		t.Error(err)
	}
	if p.dropped != otlpWaiting+1 || strings.Count(errw.String(), "warning:") != 1 || !strings.Contains(errw.String(), "401 Unauthorized") {
		t.Errorf("%d dropped, %s", p.dropped, errw.String())
	}
}

func TestSpansAreNotRedirected(t *testing.T) {
	var errw strings.Builder
	other, elsewhere := collect(t, &errw, http.StatusOK)
	server := httptest.NewServer(http.RedirectHandler(other.url.String(), http.StatusTemporaryRedirect))
	defer server.Close()
	to, err := otlpURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := newOTLPPrinter(&shell.Env{Out: &errw, Errw: &errw}, to, "")
	if err := errors.Join(p.begin(), p.entry(&trace.Entry{Method: "Version"})); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err == nil || elsewhere.Load() > 0 || !strings.Contains(errw.String(), "307 Temporary Redirect") {
		t.Errorf("%d spans, %v, %s", elsewhere.Load(), err, errw.String())
	}
}

func TestURLOfACollector(t *testing.T) {
	for text, want := range map[string]string{
		"http://h:4318": "http://h:4318/v1/traces", "https://h/": "https://h/v1/traces", "http://h/my/path": "http://h/my/path", "h:4318": "", "ftp://h": "", "": "",
	} {
		u, err := otlpURL(text)
		if (err != nil) != (want == "") || u != (*url.URL)(nil) && u.String() != want {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}
