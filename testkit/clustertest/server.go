package clustertest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
)

// Namespace is that of the inspector pods.
const Namespace = "podctl-system"

// token is the one of the kubeconfig.
const token = "clustertest"

// Node is a node and what its inspector pod does.
type Node struct {
	Name   string
	Labels map[string]string
	// NoInspector: no pod runs here. NotReady: its container does not run.
	NoInspector, NotReady bool
	// Run runs a command and returns its exit code, which is sent as the result unless the
	// session's Lost or Report is set. nil: the pod cannot be found.
	Run func(s *Session) (code int)
}

// Options describe the cluster.
type Options struct {
	Nodes []Node
	// NoWebSocket: the server does not speak WebSocket.
	NoWebSocket bool
	// Refuse, if not nil, answers a request in place of the server, and reports whether
	// it did.
	Refuse func(w http.ResponseWriter, r *http.Request) bool
}

// Server is a running API server.
type Server struct {
	*httptest.Server
	options Options
	nodes   map[string]*Node

	mu       sync.Mutex
	inFlight int
	peak     int
	requests []string
	// ending is canceled when the server closes.
	ending context.Context
	end    context.CancelFunc
}

// Start starts a server.
func Start(o Options) *Server {
	s := &Server{options: o, nodes: map[string]*Node{}}
	s.ending, s.end = context.WithCancel(context.Background())
	for i := range o.Nodes {
		s.nodes[o.Nodes[i].Name] = &o.Nodes[i]
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/nodes", s.listNodes)
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods", s.listPods)
	mux.HandleFunc("/api/v1/namespaces/{namespace}/pods/{pod}/exec", s.exec)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.String())
		s.mu.Unlock()
		switch {
		case o.Refuse != nil && o.Refuse(w, r):
		case r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, "unauthorized", http.StatusUnauthorized)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	s.Config.ErrorLog = nil
	s.StartTLS()
	return s
}

// Close ends all commands and the server.
func (s *Server) Close() {
	s.end()
	s.CloseClientConnections()
	s.Server.Close()
}

// Requests returns those that were made: "GET /api/v1/nodes?limit=500".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Peak returns the largest number of commands that ran at the same time.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// WriteKubeconfig writes a kubeconfig whose only and current context is "test".
func (s *Server) WriteKubeconfig(path string) error {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: test, user: {token: %s}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`, s.URL, base64.StdEncoding.EncodeToString(ca), token)
	return os.WriteFile(path, []byte(text), 0o600)
}

func (s *Server) listNodes(w http.ResponseWriter, r *http.Request) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var items []any
	for _, n := range s.options.Nodes {
		if selector.Matches(labels.Set(n.Labels)) {
			items = append(items, map[string]any{"metadata": map[string]any{"name": n.Name, "labels": n.Labels}})
		}
	}
	writePage(w, r, items)
}

func (s *Server) listPods(w http.ResponseWriter, r *http.Request) {
	var items []any
	node, _ := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "spec.nodeName=")
	for _, n := range s.options.Nodes {
		if n.NoInspector || r.PathValue("namespace") != Namespace || node != "" && node != n.Name {
			continue
		}
		state := map[string]any{"running": map[string]any{"startedAt": "2026-01-01T00:00:00Z"}}
		if n.NotReady {
			state = map[string]any{"waiting": map[string]any{"reason": "ImagePullBackOff"}}
		}
		items = append(items, map[string]any{
			"metadata": map[string]any{"name": "inspector-" + n.Name, "creationTimestamp": "2026-01-01T00:00:00Z"},
			"spec":     map[string]any{"nodeName": n.Name},
			"status":   map[string]any{"containerStatuses": []any{map[string]any{"name": "podctl", "state": state}}},
		})
	}
	writePage(w, r, items)
}

// writePage writes the items from the one whose number is the query's "continue".
func writePage(w http.ResponseWriter, r *http.Request, items []any) {
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		limit = len(items)
	}
	items = items[min(from, len(items)):]
	next := ""
	if len(items) > limit {
		items, next = items[:limit], strconv.Itoa(from+limit)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{"continue": next}, "items": items})
}
