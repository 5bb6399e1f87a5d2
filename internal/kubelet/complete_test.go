package kubelet

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

// The metrics are read only where the pods alone do not show that they are all, and
// the pods are asked for again after them.
func TestMetricsAreReadOnlyWhereThePodsDoNotSuffice(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a kubelet is asked in its network namespace")
	}
	for _, c := range []struct {
		name      string
		age       time.Duration
		metrics   string
		asked     []string
		housekept bool
	}{
		{"settled", time.Hour, workingMetrics, []string{"/pods"}, false},
		{"started just now, after its housekeeping", time.Second, workingMetrics, []string{"/pods", "/metrics", "/pods"}, true},
		{"started just now, before its housekeeping", time.Second, otherMetrics, []string{"/pods", "/metrics"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path)
				answer := c.metrics
				if r.URL.Path == "/pods" {
					answer = `{"kind": "PodList", "items": [{"metadata": {"name": "web"}}]}`
				}
				_, _ = io.WriteString(w, answer)
			}))
			defer server.Close()
			_, port, err := net.SplitHostPort(server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			n := &Near{PID: os.Getpid(), Age: c.age}
			n.settings.config.Address = "127.0.0.1"
			if n.settings.config.ReadOnlyPort, err = strconv.Atoi(port); err != nil {
				t.Fatal(err)
			}
			pods, w, err := n.PodsAndWorking(t.Context(), NearTimeout)
			if err != nil || len(pods) != 1 || w.Housekept != c.housekept || !slices.Equal(asked, c.asked) {
				t.Errorf("%d pods, %+v, %v; asked for %v, want %v", len(pods), w, err, asked, c.asked)
			}
		})
	}
}
