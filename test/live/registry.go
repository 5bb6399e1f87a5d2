package live

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/podctl/podctl/test/live/image"
)

// ImageRegistry is an image registry in the process of the test. Its knobs may
// be turned at any time, and take effect with the next request.
type ImageRegistry struct {
	Addr string // 127.0.0.1:PORT

	server *httptest.Server

	mu             sync.Mutex
	status         int
	user, password string
	delay          time.Duration
	bytesPerSecond int
	half           Half
	requests       []string
}

// Registry starts a registry that holds the test image under each of the given
// names, such as "app:1" or "team/app:1"; Image gives the full name. It ends
// with the test. The host needs busybox-static, which hack/runtime installs.
func Registry(t testing.TB, names ...string) *ImageRegistry {
	t.Helper()
	r := &ImageRegistry{}
	server := httptest.NewServer(r.wrap(registry.New(registry.Logger(log.New(io.Discard, "", 0)))))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.server, r.Addr = server, server.Listener.Addr().String()
	img, err := image.Busybox()
	if err != nil {
		t.Fatalf("fill registry: %v", err)
	}
	for _, n := range names {
		r.write(t, n, img)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
	return r
}

// Push adds the test image with a label, so that its id is not that of the image that
// every runtime holds.
func (r *ImageRegistry) Push(t testing.TB, names ...string) {
	t.Helper()
	img, err := image.Busybox()
	if err != nil {
		t.Fatalf("fill registry: %v", err)
	}
	for _, n := range names {
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatalf("fill registry: %v", err)
		}
		config = config.DeepCopy()
		config.Config.Labels = map[string]string{"name": n}
		labelled, err := mutate.ConfigFile(img, config)
		if err != nil {
			t.Fatalf("fill registry: %v", err)
		}
		r.write(t, n, labelled)
	}
}

// PushLarge adds an index of the test image, with layers of these sizes, in bytes, above it,
// and of another platform's. No compression makes them smaller, and no runtime holds them.
func (r *ImageRegistry) PushLarge(t testing.TB, name string, sizes ...int) {
	t.Helper()
	img, err := image.Busybox()
	if err != nil {
		t.Fatalf("fill registry: %v", err)
	}
	for _, size := range sizes {
		data := make([]byte, size)
		_, _ = rand.Read(data) // never fails
		file := image.File{Name: fmt.Sprintf("tmp/%d", size), Mode: 0o644, Data: data}
		if img, err = image.Extend(img, []image.File{file}, v1.Config{Cmd: []string{"sh"}}); err != nil {
			t.Fatalf("fill registry: %v", err)
		}
	}
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: empty.Image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}},
		mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}},
	)
	if err := remote.WriteIndex(r.reference(t, name), index, remote.WithContext(t.Context())); err != nil {
		t.Fatalf("fill registry: %v", err)
	}
}

func (r *ImageRegistry) reference(t testing.TB, n string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(r.Image(n))
	if err != nil {
		t.Fatalf("fill registry: %v", err)
	}
	return ref
}

func (r *ImageRegistry) write(t testing.TB, n string, img v1.Image) {
	t.Helper()
	if err := remote.Write(r.reference(t, n), img, remote.WithContext(t.Context())); err != nil {
		t.Fatalf("fill registry: %v", err)
	}
}

// Image returns the full name of an image of this registry.
func (r *ImageRegistry) Image(name string) string { return r.Addr + "/" + name }

// Fail answers every request with the HTTP status; 0 is the end of it.
func (r *ImageRegistry) Fail(status int) { r.set(func() { r.status = status }) }

// Disconnect closes the connections of clients that wait for an answer.
func (r *ImageRegistry) Disconnect() { r.server.CloseClientConnections() }

// RequirePassword refuses every request without this basic authorization; an
// empty user lets everybody in again.
func (r *ImageRegistry) RequirePassword(user, password string) {
	r.set(func() { r.user, r.password = user, password })
}

// Slow lets every request wait first.
func (r *ImageRegistry) Slow(delay time.Duration) { r.set(func() { r.delay = delay }) }

// Throttle sends each answer no faster than this; 0 is the end of it, also for answers
// that are being sent.
func (r *ImageRegistry) Throttle(bytesPerSecond int) {
	r.set(func() { r.bytesPerSecond = bytesPerSecond })
}

// Half is what the registry does after the first half of a layer.
type Half uint8

// What it does.
const (
	Complete Half = iota // sends the rest
	Stalls               // sends nothing more, and keeps the connection open
	Breaks               // closes the connection
)

// Halve changes what is done after the first half of a layer.
func (r *ImageRegistry) Halve(half Half) { r.set(func() { r.half = half }) }

// Requests returns the requests seen since the registry was filled, such as
// "GET /v2/app/manifests/1".
func (r *ImageRegistry) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.requests...)
}

func (r *ImageRegistry) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *ImageRegistry) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.requests = append(r.requests, req.Method+" "+req.URL.Path)
		status, user, password, delay, half := r.status, r.user, r.password, r.delay, r.half
		r.mu.Unlock()
		if !waited(req.Context(), delay) {
			return
		}
		gotUser, gotPassword, _ := req.BasicAuth()
		switch {
		case status != 0:
			http.Error(w, strings.ToLower(http.StatusText(status)), status)
		case user != "" && (gotUser != user || gotPassword != password):
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			next.ServeHTTP(&throttled{ResponseWriter: w, ctx: req.Context(), registry: r, half: half}, req)
		}
	})
}

// waited reports whether the delay passed before the client gave up.
func waited(ctx context.Context, delay time.Duration) bool {
	if delay == 0 {
		return true
	}
	select {
	case <-time.After(delay):
		return true
	case <-ctx.Done():
		return false
	}
}

// throttled writes an answer as fast as the registry's knob allows.
type throttled struct {
	http.ResponseWriter
	ctx      context.Context
	registry *ImageRegistry
	half     Half
	sent     int
}

// minLayer distinguishes layers from other blobs, in bytes.
const minLayer = 64 << 10

// Write sends pieces of a tenth of a second.
func (t *throttled) Write(b []byte) (int, error) {
	size, err := strconv.Atoi(t.Header().Get("Content-Length"))
	if half := size / 2; t.half != Complete && err == nil && size > minLayer && t.sent+len(b) > half {
		_, _ = t.write(b[:half-t.sent])
		if t.half == Stalls {
			<-t.ctx.Done()
		}
		panic(http.ErrAbortHandler)
	}
	return t.write(b)
}

func (t *throttled) write(b []byte) (int, error) {
	written := 0
	defer func() { t.sent += written }()
	for written < len(b) {
		t.registry.mu.Lock()
		piece := t.registry.bytesPerSecond / 10
		t.registry.mu.Unlock()
		if piece == 0 {
			piece = len(b)
		} else if !waited(t.ctx, time.Second/10) {
			return written, t.ctx.Err()
		}
		n, err := t.ResponseWriter.Write(b[written:min(len(b), written+piece)])
		written += n
		if err != nil {
			return written, err
		}
		if f, ok := t.ResponseWriter.(http.Flusher); ok && (written < len(b) || t.half != Complete) {
			f.Flush()
		}
	}
	return written, nil
}
