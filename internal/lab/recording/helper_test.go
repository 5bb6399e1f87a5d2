package recording

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// node is a simulated runtime, in virtual time, and a client of it.
type node struct {
	t      *testing.T
	sim    *sim.Runtime
	client *cri.Client
}

func bubble(t *testing.T, f func(n *node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		runtime := sim.New(sim.Options{})
		defer runtime.Close()
		client := connect(t, runtime.Dial)
		defer client.Close()
		f(&node{t, runtime, client})
	})
}

func connect(t *testing.T, dial func(context.Context) (net.Conn, error)) *cri.Client {
	t.Helper()
	client, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: "tape:x"}, Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// run runs a pod with one container, whose environment has a secret, and returns its id.
func (n *node) run(name, command string) (sandbox, container string) {
	n.t.Helper()
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "uid-" + name},
		Labels:   map[string]string{pod.UIDLabel: "uid-" + name, pod.NameLabel: name, pod.NamespaceLabel: "default"},
	}
	sandbox, err := n.client.RunPodSandbox(n.t.Context(), config, "")
	if err == nil {
		container, err = n.client.CreateContainer(n.t.Context(), sandbox, &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, Image: &runtimeapi.ImageSpec{Image: "busybox"}, Command: []string{"sh", "-c", command},
			Labels: map[string]string{pod.UIDLabel: "uid-" + name, pod.NameLabel: name, pod.NamespaceLabel: "default", pod.ContainerNameLabel: "app"},
		}, config)
	}
	if err == nil {
		err = n.client.StartContainer(n.t.Context(), container)
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return sandbox, container
}

func (n *node) recorder() *Recorder {
	return &Recorder{Runtime: n.client.RuntimeConn(), Image: n.client.ImageConn(), Writer: NewWriter(Header{Podctl: "v1", Runtime: "sim"})}
}

// record records the runtime once.
func (n *node) record() []byte {
	n.t.Helper()
	r := n.recorder()
	if err := r.Snapshot(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	return finish(n.t, r.Writer)
}

func finish(t *testing.T, w *Writer) []byte {
	t.Helper()
	var file bytes.Buffer
	if _, err := w.Finish(&file, NewMask(nil), time.Now()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func read(t *testing.T, file []byte) *Recording {
	t.Helper()
	recorded, err := Read("f", bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return recorded
}

// unzipped is the text of a recording.
func unzipped(t *testing.T, file []byte) string {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func zipped(text string) []byte {
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	_, _ = io.Copy(w, strings.NewReader(text))
	_ = w.Close()
	return file.Bytes()
}

// served is a client of a recording.
func served(t *testing.T, file []byte) (*Server, *cri.Client) {
	t.Helper()
	s := Serve(read(t, file))
	client := connect(t, s.Dial)
	t.Cleanup(func() { client.Close(); s.Close() })
	return s, client
}

// call is an answer to be recorded.
type call struct {
	name              string
	request, response proto.Message
	err               error
}

func (c call) addTo(t *testing.T, w *Writer) {
	t.Helper()
	if c.request == nil {
		c.request = methods()[c.name].in.New().Interface()
	}
	if err := w.Add(c.name, c.request, c.response, c.err); err != nil {
		t.Fatal(err)
	}
}
