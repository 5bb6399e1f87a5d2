package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/sys/hint"
)

// maxBody bounds a request: a name and a number, or a container.
const maxBody = 64 << 10

// Handler returns the handler of the whole API, for a control socket. metrics may be nil;
// without events the stream is empty. Each answer has the unique id of the process, and
// says whether it is settled.
func Handler(h Host, events *Broadcaster, metrics http.Handler) http.Handler {
	mux := socketMux(h, events, metrics)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(idHeader, h.ID())
		if h.Settled() {
			w.Header().Set(settledHeader, "true")
		}
		mux.ServeHTTP(w, r)
	})
}

// idHeader is the header of an answer that has the unique id of the process.
const idHeader = "Podctl-Instance"

// settledHeader is the header of an answer of a process that is settled.
const settledHeader = "Podctl-Settled"

func socketMux(h Host, events *Broadcaster, metrics http.Handler) http.Handler {
	mux := publicMux(h.Checks(), metrics, false)
	mux.HandleFunc("GET /pods", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, selectUID(h.Pods(), r.URL.Query().Get("uid")))
	})
	mux.HandleFunc("GET /node", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, h.NodeObject()) })
	mux.HandleFunc("GET /workers", func(w http.ResponseWriter, _ *http.Request) {
		workers := h.Workers()
		if workers == nil {
			workers = []Worker{}
		}
		writeJSON(w, workers)
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) { stream(w, r, events) })
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, r *http.Request) {
		if req, ok := readPod(w, r); ok {
			writeResult(w, h.Stop(r.Context(), req.Namespace, req.Name, req.GraceSeconds))
		}
	})
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, r *http.Request) {
		if req, ok := readPod(w, r); ok {
			writeResult(w, h.Start(r.Context(), req.Namespace, req.Name))
		}
	})
	mux.HandleFunc("POST /restart", func(w http.ResponseWriter, r *http.Request) {
		var req restartRequest
		err := readJSON(w, r, &req)
		if err == nil && (req.Name == "" || req.Namespace == "" || len(req.Containers) == 0) {
			err = errors.New("namespace, name and containers are needed")
		}
		if err != nil {
			writeError(w, http.StatusBadRequest, fmt.Errorf("read request: %w", err))
			return
		}
		writeResult(w, h.Restart(req.Namespace, req.Name, req.Containers, req.Force))
	})
	mux.HandleFunc("POST /debug", func(w http.ResponseWriter, r *http.Request) {
		var req debugRequest
		err := readJSON(w, r, &req)
		if err == nil && (req.Name == "" || req.Namespace == "" || req.Container.Name == "") {
			err = errors.New("namespace, name and container are needed")
		}
		if err != nil {
			writeError(w, http.StatusBadRequest, fmt.Errorf("read request: %w", err))
			return
		}
		writeResult(w, h.Debug(req.Namespace, req.Name, req.Container))
	})
	mux.HandleFunc("POST /condition", func(w http.ResponseWriter, r *http.Request) {
		var req conditionRequest
		err := readJSON(w, r, &req)
		if err == nil && (req.Name == "" || req.Namespace == "" || req.Condition.Type == "") {
			err = errors.New("namespace, name and the type of the condition are needed")
		}
		if err != nil {
			writeError(w, http.StatusBadRequest, fmt.Errorf("read request: %w", err))
			return
		}
		writeResult(w, h.SetCondition(req.Namespace, req.Name, req.Condition))
	})
	return mux
}

// Public returns the handler for a port: /metrics, /healthz and /readyz.
func Public(checks []Check, metrics http.Handler) http.Handler {
	return publicMux(checks, metrics, true)
}

func publicMux(checks []Check, metrics http.Handler, withhold bool) *http.ServeMux {
	mux := http.NewServeMux()
	handleChecks(mux, checks, withhold)
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	return mux
}

// selectUID returns the list with only the pod of a UID; "" selects all.
func selectUID(list *v1.PodList, uid string) *v1.PodList {
	if uid != "" {
		list.Items = slices.DeleteFunc(list.Items, func(p v1.Pod) bool { return string(p.UID) != uid })
	}
	return list
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// readPod reads the pod that a request is about, and rejects a request without one.
func readPod(w http.ResponseWriter, r *http.Request) (podRequest, bool) {
	var req podRequest
	err := readJSON(w, r, &req)
	if err == nil && (req.Name == "" || req.Namespace == "") {
		err = errors.New("namespace and name are needed")
	}
	if err == nil && req.GraceSeconds != nil && *req.GraceSeconds < 0 {
		err = errors.New("graceSeconds is negative")
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("read request: %w", err))
		return req, false
	}
	return req, true
}

func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// writeResult answers a request to change a pod.
func writeResult(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		writeJSON(w, struct{}{})
	case errors.Is(err, ErrNotFound):
		writeError(w, http.StatusNotFound, err)
	default:
		writeError(w, http.StatusConflict, err)
	}
}

func writeError(w http.ResponseWriter, code int, err error) {
	body := errorBody{Error: err.Error(), Hint: hint.Of(err)}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// stream sends events as they come, one JSON object a line, until the reader disconnects
// or the podctl process exits.
func stream(w http.ResponseWriter, r *http.Request, b *Broadcaster) {
	w.Header().Set("Content-Type", "application/jsonl")
	flush := http.NewResponseController(w)
	if b == nil {
		return
	}
	events, stop := b.subscribe()
	defer stop()
	_ = flush.Flush() // the reader knows that from here on it misses nothing
	enc := json.NewEncoder(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case ev, ok := <-events:
			if !ok || enc.Encode(ev) != nil || flush.Flush() != nil {
				return
			}
		}
	}
}
