package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/proxy"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// serve serves the part of the kubelet's API that the tests use, to clients with a
// certificate of the authority.
func (b *bridge) serve() error {
	authority, err := os.ReadFile(b.clientCA)
	if err != nil {
		return err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		return fmt.Errorf("%s has no certificate", b.clientCA)
	}
	mux := http.NewServeMux()
	handle := func(pattern string, serve func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				http.Error(w, err.Error(), statusOf(err))
			}
		})
	}
	handle("GET /pods", b.listPods)
	handle("GET /metrics", b.metrics)
	handle("GET /containerLogs/{namespace}/{pod}/{container}", b.logs)
	handle("/exec/{namespace}/{pod}/{container}", b.exec)
	handle("/attach/{namespace}/{pod}/{container}", b.attach)
	handle("/portForward/{namespace}/{pod}", b.portForward)
	handle("POST /run/{namespace}/{pod}/{container}", b.runCommand)
	server := &http.Server{
		Addr: ":" + strconv.Itoa(b.port), Handler: mux, ReadHeaderTimeout: time.Minute,
		TLSConfig:    &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // streams need HTTP/1.1
	}
	return server.ListenAndServeTLS(b.certificate, b.key)
}

// badRequest is an error that the kubelet answers with 400.
type badRequest struct{ error }

func statusOf(err error) int {
	switch {
	case errors.As(err, new(badRequest)):
		return http.StatusBadRequest
	case errors.Is(err, cri.ErrNotFound):
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

func (b *bridge) listPods(w http.ResponseWriter, r *http.Request) error {
	list, err := b.podctl.Pods(r.Context())
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(list)
}

func (b *bridge) metrics(w http.ResponseWriter, r *http.Request) error {
	text, err := b.podctl.Get(r.Context(), "/metrics")
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// podOf returns podctl's pod of a request, with its status.
func (b *bridge) podOf(r *http.Request) (*v1.Pod, error) {
	p, err := b.bound.Pods(r.PathValue("namespace")).Get(r.PathValue("pod"))
	if err != nil {
		return nil, err
	}
	return b.podctl.Pod(r.Context(), p.UID)
}

// running returns the id of the container of a request if it runs, by the runtime.
func (b *bridge) running(r *http.Request) (string, error) {
	found, err := b.inRuntime(r)
	if err != nil {
		return "", err
	}
	name := r.PathValue("container")
	for _, c := range found.Containers {
		if c.Name == name && c.State == pod.Running {
			return c.ID, nil
		}
	}
	return "", badRequest{fmt.Errorf("container not found (%q)", name)}
}

// inRuntime returns the pod of a request as the runtime has it.
func (b *bridge) inRuntime(r *http.Request) (*pod.Pod, error) {
	p, err := b.bound.Pods(r.PathValue("namespace")).Get(r.PathValue("pod"))
	if err != nil {
		return nil, err
	}
	return b.runtime.ListPod(r.Context(), p.UID)
}

func (b *bridge) exec(w http.ResponseWriter, r *http.Request) error {
	return b.stream(w, r, func(ctx context.Context, id string, s cri.Streams) (string, error) {
		return b.runtime.Exec(ctx, id, r.URL.Query()["command"], s)
	})
}

func (b *bridge) attach(w http.ResponseWriter, r *http.Request) error {
	return b.stream(w, r, b.runtime.Attach)
}

// stream forwards a request to the URL that the runtime gives for it.
func (b *bridge) stream(w http.ResponseWriter, r *http.Request, prepare func(ctx context.Context, id string, s cri.Streams) (string, error)) error {
	id, err := b.running(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	on := func(key string) bool { return query.Get(key) == "1" || query.Get(key) == "true" }
	location, err := prepare(r.Context(), id, cri.Streams{Stdin: on("input"), Stdout: on("output"), Stderr: on("error"), TTY: on("tty")})
	if err != nil {
		return err
	}
	return forward(w, r, location)
}

func (b *bridge) portForward(w http.ResponseWriter, r *http.Request) error {
	found, err := b.inRuntime(r)
	if err != nil {
		return err
	}
	port, _ := strconv.ParseUint(cmp.Or(r.URL.Query().Get("port"), "0"), 10, 16) // only WebSockets name it here
	for _, s := range found.Sandboxes {
		if s.State == pod.Running {
			location, err := b.runtime.PortForward(r.Context(), s.ID, uint16(port))
			if err != nil {
				return err
			}
			return forward(w, r, location)
		}
	}
	return fmt.Errorf("pod %q has no sandbox that is ready", r.PathValue("pod"))
}

func forward(w http.ResponseWriter, r *http.Request, location string) error {
	to, err := url.Parse(location)
	if err != nil {
		return err
	}
	proxy.NewUpgradeAwareHandler(to, nil, false, true, responder{}).ServeHTTP(w, r)
	return nil
}

// responder answers a request that could not be forwarded.
type responder struct{}

func (responder) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusBadGateway)
}

func (b *bridge) runCommand(w http.ResponseWriter, r *http.Request) error {
	id, err := b.running(r)
	if err != nil {
		return err
	}
	result, err := b.runtime.ExecSync(r.Context(), id, strings.Split(r.URL.Query().Get("cmd"), " "), time.Minute)
	if err != nil {
		return err
	}
	_, err = w.Write(append(result.Stdout, result.Stderr...))
	return err
}
