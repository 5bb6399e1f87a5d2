package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

// fakePodsAPI answers with a pod of that name, or with an error.
type fakePodsAPI struct {
	podsv1alpha1.UnimplementedPodsServer
	name string
	err  error
}

func (f fakePodsAPI) ListPods(context.Context, *podsv1alpha1.ListPodsRequest) (*podsv1alpha1.ListPodsResponse, error) {
	if f.err != nil {
		return nil, f.err
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: f.name}, Status: v1.PodStatus{Phase: v1.PodRunning}}
	encoded, err := pod.Marshal()
	return &podsv1alpha1.ListPodsResponse{Pods: [][]byte{encoded}}, err
}

// servePodsAPI serves it below a root directory of a kubelet, which it returns.
func servePodsAPI(t *testing.T, f fakePodsAPI) (rootDir string) {
	t.Helper()
	rootDir = t.TempDir()
	socket := filepath.Join(rootDir, podsAPI)
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	podsv1alpha1.RegisterPodsServer(server, f)
	go func() { _ = server.Serve(l) }() // until it is stopped
	t.Cleanup(server.Stop)
	return rootDir
}

// The PodsAPI is asked first, and knows whether the kubelet has read its sources; the
// servers of older kubelets are asked where it does not answer.
func TestAskPodsAPIFirst(t *testing.T) {
	initializing := status.Error(codes.FailedPrecondition, "Kubelet is initializing")
	const noPod = "it names no pod, and may not have read its sources yet"
	for _, c := range []struct {
		name string
		api  fakePodsAPI
		// pods of the read-only server, and its metrics.
		pods, metrics string
		age           time.Duration
		source        string
		want          []string
		incomplete    string
	}{
		{"it answers", fakePodsAPI{name: "web"}, `{}`, "", time.Hour, "unix:///", []string{"web"}, ""},
		{"it answers, just started", fakePodsAPI{name: "web"}, `{}`, "", time.Second, "unix:///", []string{"web"}, ""},
		{"before it has read its sources", fakePodsAPI{err: initializing}, oneLocalPod, otherMetrics, time.Hour, "http://", []string{"web"}, errInitializing.Error()},
		{"it has read them meanwhile", fakePodsAPI{err: initializing}, oneLocalPod, workingMetrics, time.Hour, "http://", []string{"web"}, ""},
		{"it does not know the call", fakePodsAPI{err: status.Error(codes.Unimplemented, "no")}, `{"kind": "PodList"}`, otherMetrics, time.Hour, "http://", nil, noPod},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/pods" {
					_, _ = io.WriteString(w, c.pods)
				} else {
					_, _ = io.WriteString(w, c.metrics)
				}
			}))
			defer server.Close()
			p := processAt(t, server)
			p.age, p.root, p.settings.rootDir = c.age, "/", servePodsAPI(t, c.api)
			a := p.Ask(t.Context(), Question{})
			var names []string
			for _, pod := range a.Pods {
				names = append(names, pod.Name)
			}
			if !slices.Equal(names, c.want) || !strings.HasPrefix(a.Source, "kubelet "+c.source) {
				t.Errorf("%s: %v (%v), want %s…: %v", a.Source, names, a.Err, c.source, c.want)
			}
			if got := fmt.Sprint(a.Incomplete); (a.Incomplete == nil) != (c.incomplete == "") || !strings.Contains(got, c.incomplete) && c.incomplete != "" {
				t.Errorf("incomplete: %v, want %q", a.Incomplete, c.incomplete)
			}
		})
	}
}

func TestPodsAPIOfAnotherProcessIsNotBelieved(t *testing.T) {
	p := &Process{PID: os.Getppid(), root: "/"}
	p.settings.rootDir = servePodsAPI(t, fakePodsAPI{name: "planted"})
	pods, _, err := p.podsFromPodsAPI(t.Context())
	if len(pods) > 0 || err == nil || !strings.Contains(err.Error(), "which is not believed") || errors.Is(err, errInitializing) {
		t.Errorf("%v, %v", pods, err)
	}
}
