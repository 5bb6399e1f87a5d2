package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
)

// fakeHost knows one pod, default/web.
type fakeHost struct {
	starting         bool // not settled
	stopped, started string
	grace            *int64
	unhealthy        error
	restarted        map[string]string
	debugged         v1.EphemeralContainer
	condition        v1.PodCondition
}

func (h *fakeHost) Pods() *v1.PodList {
	list := &v1.PodList{Items: make([]v1.Pod, 1)}
	list.Items[0].Name, list.Items[0].Namespace = "web", "default"
	return list
}

func (h *fakeHost) Workers() []Worker {
	return []Worker{{Namespace: "default", Name: "web", Phase: "terminating"}}
}

func (h *fakeHost) Stop(_ context.Context, namespace, name string, grace *int64) error {
	h.grace = grace
	return h.order(&h.stopped, namespace, name)
}

func (h *fakeHost) Start(_ context.Context, namespace, name string) error {
	return h.order(&h.started, namespace, name)
}

func (h *fakeHost) Restart(namespace, name string, containers map[string]string, _ bool) error {
	h.restarted = containers
	var order string
	return h.order(&order, namespace, name)
}

func (h *fakeHost) Debug(namespace, name string, c v1.EphemeralContainer) error {
	h.debugged = c
	var order string
	return h.order(&order, namespace, name)
}

func (h *fakeHost) SetCondition(namespace, name string, c v1.PodCondition) error {
	h.condition = c
	var order string
	return h.order(&order, namespace, name)
}

func (h *fakeHost) NodeObject() *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
}

func (h *fakeHost) order(to *string, namespace, name string) error {
	switch name {
	case "web":
		*to = namespace + "/" + name
		return nil
	case "busy":
		return busyError{}
	}
	return ErrNotFound
}

type busyError struct{}

func (busyError) Error() string { return "pod is busy" }
func (busyError) Hint() string  { return "wait for it" }

func (h *fakeHost) ID() string { return "run-1/id/boot" }

func (h *fakeHost) Settled() bool { return !h.starting }

func (h *fakeHost) Checks() []Check {
	return []Check{{Name: "pleg", Runtime: true, Run: func() error { return h.unhealthy }}}
}

// served is a host behind a socket in a directory of its own, and its client.
func served(t *testing.T, h Host, events *Broadcaster) (dir string, c *Client) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	locks, err := owner.Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close() })
	l, err := Listen(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, Handler(h, events, http.NotFoundHandler()), nil)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(Path(dir, "agent")); !os.IsNotExist(err) {
			t.Errorf("the socket is left behind: %v", err)
		}
	})
	found, err := Find(dir, nil)
	if err != nil || len(found) != 1 || found[0].Instance() != "agent" {
		t.Fatalf("Find: %v %v", found, err)
	}
	return dir, found[0]
}

func TestClientRequests(t *testing.T) {
	h := &fakeHost{}
	dir, c := served(t, h, nil)
	if info, err := os.Stat(Path(dir, "agent")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode is %v, %v", info.Mode(), err)
	}
	pods, err := c.Pods(t.Context())
	if err != nil || len(pods.Items) != 1 || pods.Items[0].Name != "web" {
		t.Errorf("Pods: %v %v", pods, err)
	}
	workers, err := c.Workers(t.Context())
	if err != nil || len(workers) != 1 || !workers[0].Terminating() || !c.Settled() {
		t.Errorf("Workers: %v %v, settled %v", workers, err, c.Settled())
	}
	h.starting = true
	if _, err := c.Workers(t.Context()); err != nil || c.Settled() {
		t.Errorf("of one that starts: %v, settled %v", err, c.Settled())
	}
	grace := int64(7)
	if err := c.Stop(t.Context(), "default", "web", &grace); err != nil || h.stopped != "default/web" || h.grace == nil || *h.grace != 7 {
		t.Errorf("Stop: %v, the host got %q %v", err, h.stopped, h.grace)
	}
	if err := c.Stop(t.Context(), "default", "web", nil); err != nil || h.grace != nil {
		t.Errorf("Stop without a grace: %v, the host got %v", err, h.grace)
	}
	if err := c.Start(t.Context(), "default", "web"); err != nil || h.started != "default/web" {
		t.Errorf("Start: %v, the host got %q", err, h.started)
	}
	if err := c.Start(t.Context(), "default", "other"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Start of an unknown pod: %v", err)
	}
	debug := v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "d", Image: "i"}, TargetContainerName: "c"}
	if err := c.SetCondition(t.Context(), "default", "web", v1.PodCondition{Type: "a/b", Status: v1.ConditionTrue}); err != nil || h.condition.Type != "a/b" {
		t.Errorf("SetCondition: %v, the host got %+v", err, h.condition)
	}
	if err := c.Debug(t.Context(), "default", "web", debug); err != nil || h.debugged.TargetContainerName != "c" {
		t.Errorf("Debug: %v, the host got %+v", err, h.debugged)
	}
	if err := c.Restart(t.Context(), "default", "web", map[string]string{"a": "1", "b": ""}, false); err != nil || len(h.restarted) != 2 {
		t.Errorf("Restart: %v, the host got %v", err, h.restarted)
	}
	if n, err := c.Node(t.Context()); err != nil || n.Name != "n1" {
		t.Errorf("Node: %v, %v", n, err)
	}
	err = c.Stop(t.Context(), "default", "busy", nil)
	if err == nil || err.Error() != "pod is busy" || hint.Of(err) != "wait for it" || errors.Is(err, ErrNotFound) {
		t.Errorf("Stop that is refused: %v", err)
	}
}

func TestHandlerRejectsInvalidRequests(t *testing.T) {
	h := &fakeHost{}
	handler := Handler(h, nil, nil)
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{"GET", "/stop", "", 405},
		{"POST", "/pods", "", 405},
		{"POST", "/stop", "", 400},
		{"POST", "/stop", `{"name":"web"}`, 400},
		{"POST", "/stop", `{"namespace":"default","name":"web","grace":1}`, 400},
		{"POST", "/stop", `{"namespace":"default","name":"web","graceSeconds":-1}`, 400},
		{"POST", "/start", `{"namespace":"default","name":"` + strings.Repeat("x", maxBody) + `"}`, 400},
		{"GET", "/", "", 404},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.code {
			t.Errorf("%s %s %.40s: %d, want %d", c.method, c.path, c.body, w.Code, c.code)
		}
	}
	if h.stopped+h.started != "" {
		t.Errorf("the host was asked to stop %q, start %q", h.stopped, h.started)
	}
}

func TestHealthzMatchesKubelet(t *testing.T) {
	sick := &fakeHost{unhealthy: errors.New("last relist 4m ago")}
	for _, c := range []struct {
		name    string
		handler http.Handler
		path    string
		code    int
		body    string
	}{
		{"healthy", Handler(&fakeHost{}, nil, nil), "/healthz", 200, "ok"},
		{"verbose", Handler(&fakeHost{}, nil, nil), "/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n"},
		{"ready", Handler(&fakeHost{}, nil, nil), "/readyz?verbose", 200, "[+]ping ok\n[+]pleg ok\nreadyz check passed\n"},
		{"one", Handler(&fakeHost{}, nil, nil), "/healthz/pleg", 200, "ok"},
		{"unknown", Handler(&fakeHost{}, nil, nil), "/healthz/etcd", 404, "404 page not found\n"},
		{"sick runtime, live", Handler(sick, nil, nil), "/healthz", 200, "ok"},
		{"sick runtime, not ready", Handler(sick, nil, nil), "/readyz", 500, "[+]ping ok\n[-]pleg failed: last relist 4m ago\nreadyz check failed\n"},
		{"sick, one", Handler(sick, nil, nil), "/healthz/pleg", 500, "pleg: last relist 4m ago\n"},
		{"excluded", Handler(sick, nil, nil), "/readyz?exclude=pleg&verbose", 200, "[+]ping ok\n[+]pleg excluded: ok\nreadyz check passed\n"},
		{"public port", Public(sick.Checks(), nil), "/readyz", 500, "[+]ping ok\n[-]pleg failed: reason withheld\nreadyz check failed\n"},
		{"public port, one", Public(sick.Checks(), nil), "/healthz/pleg", 500, "pleg: reason withheld\n"},
		{"public port, one, ready", Public(sick.Checks(), nil), "/readyz/pleg", 500, "pleg: reason withheld\n"},
	} {
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
		if w.Code != c.code || w.Body.String() != c.body {
			t.Errorf("%s: %d %q, want %d %q", c.name, w.Code, w.Body, c.code, c.body)
		}
	}
}

func TestPortServesMetricsAndHealthOnly(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "numbers") })
	handler := Public((&fakeHost{}).Checks(), metrics)
	for path, code := range map[string]int{"/metrics": 200, "/healthz": 200, "/readyz": 200, "/pods": 404, "/workers": 404, "/events": 404, "/stop": 404} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != code {
			t.Errorf("%s: %d, want %d", path, w.Code, code)
		}
	}
}

func TestEventStreamEndsWithProcess(t *testing.T) {
	var events Broadcaster
	events.Send(event.Event{Reason: "Before"}) // there is no reader yet
	_, c := served(t, &fakeHost{}, &events)
	opened, got := make(chan struct{}), []string{}
	ended := make(chan error, 1)
	go func() {
		ended <- c.Events(t.Context(), func() { close(opened) }, func(ev Event) { got = append(got, ev.Reason) })
	}()
	<-opened
	events.Send(event.Event{Reason: "Started", Time: time.Unix(1, 0)})
	events.Send(event.Event{Reason: "Killing"})
	events.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text := strings.Join(got, " "); text != "Started Killing" {
		t.Errorf("read %q", text)
	}
}

func TestSlowEventReaderIsToldLostCount(t *testing.T) {
	var b Broadcaster
	events, stop := b.subscribe()
	defer stop()
	for range backlog + 3 {
		b.Send(event.Event{Reason: "R"})
	}
	for range backlog {
		if ev := <-events; ev.Lost != 0 {
			t.Fatalf("lost %d too early", ev.Lost)
		}
	}
	b.Send(event.Event{Reason: "Next"})
	if ev := <-events; ev.Lost != 3 || ev.Reason != "Next" {
		t.Errorf("got %+v, want Next after 3 lost", ev)
	}
}

// The fields of the API are for others' scripts: what is renamed here breaks
// them.
func TestWorkerJSON(t *testing.T) {
	at, left := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), int64(-4)
	b, err := json.Marshal(Worker{
		Namespace: "default", Name: "db", UID: "u", Phase: "terminating", Since: at, Cause: "killed", HasConfig: true,
		Operation: "terminate", OperationSince: at, Calls: []Call{{Method: "StopContainer", ID: "c1", Container: "db", Since: at}},
		StopRequested: at, GraceSeconds: 30, GraceLeftSeconds: &left, LastError: event.Failure{Op: "terminate", Layer: event.LayerContainer, Text: "deadline"},
	})
	const want = `{"namespace":"default","name":"db","uid":"u","phase":"terminating","since":"2026-01-02T03:04:05Z","cause":"killed",` +
		`"ready":0,"containers":0,"restarts":0,"desired":false,"hasConfig":true,"operation":"terminate","operationSince":"2026-01-02T03:04:05Z",` +
		`"calls":[{"method":"StopContainer","id":"c1","container":"db","since":"2026-01-02T03:04:05Z"}],"lastError":{"op":"terminate","layer":"container","text":"deadline"},` +
		`"stopRequested":"2026-01-02T03:04:05Z","graceSeconds":30,"graceLeftSeconds":-4}`
	if err != nil || string(b) != want {
		t.Errorf("%v\n got %s\nwant %s", err, b, want)
	}
}

// hostileClient is the client of what answers every request so.
func hostileClient(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	dir := t.TempDir()
	l, err := Listen(dir, "run-hostileClient")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, answer, nil)
	t.Cleanup(func() { _ = s.Close() })
	return Process{Name: "run-hostileClient", Socket: Path(dir, "run-hostileClient")}.Client(nil)
}

func endless(w http.ResponseWriter, _ *http.Request) {
	for {
		if _, err := w.Write(make([]byte, 1<<10)); err != nil {
			return
		}
	}
}

func TestAnswerSizeIsBounded(t *testing.T) {
	c := hostileClient(t, endless)
	c.limit = 1 << 16
	if _, err := c.Workers(t.Context()); err == nil || !strings.Contains(err.Error(), "larger than 65536 bytes") {
		t.Errorf("%v", err)
	}
	if err := c.Events(t.Context(), func() {}, func(Event) {}); !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("an event without an end: %v", err)
	}
}

// Two bytes of an answer may be a pod or a container of a kilobyte.
func TestAnswerValuesAreBounded(t *testing.T) {
	c := hostileClient(t, func(w http.ResponseWriter, r *http.Request) {
		list := func(n int) string { return "[" + strings.Repeat("{},", n-1) + "{}]" }
		switch r.URL.Path {
		case "/workers":
			_, _ = io.WriteString(w, list(maxPods+1))
		case "/node":
			_, _ = io.WriteString(w, `{"status":{"images":`+list(maxValues)+`}}`)
		default:
			_, _ = io.WriteString(w, `{"items":`+list(maxPods+1)+`}`)
		}
	})
	wants := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := c.Workers(t.Context())
	wants(err, "more than 10000 pods")
	_, err = c.Pods(t.Context())
	wants(err, "more than 10000 pods")
	_, err = c.Pod(t.Context(), "u")
	wants(err, "more than 10000 pods")
	_, err = c.Node(t.Context())
	wants(err, "more than 1000000 values")
}
