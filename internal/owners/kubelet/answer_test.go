package kubelet

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
)

// A kubelet that was just started, that has not reached its API server, or that does
// not name a static pod, does not name all of its pods.
func TestAnswerIncomplete(t *testing.T) {
	named := func(source string) []*v1.Pod {
		return []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{pod.ConfigSourceAnnotation: source}}}}
	}
	old, young := evidence{seen: true, age: time.Hour}, evidence{seen: true, age: time.Second}
	follower := evidence{seen: true, age: time.Hour, followsAPIServer: true}
	const noPod, noAPIPod, noStatic = "it names no pod, and may not have read its sources yet", "it names no pod of its API server", "it does not name its static pod default/db-node yet"
	static := []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db-node"}}}
	withStatic := func(e evidence) evidence { e.static = static; return e }
	hanging := old
	hanging.staticUnread = errHangs
	for _, c := range []struct {
		name     string
		evidence evidence
		pods     []*v1.Pod
		// incomplete, besideCluster and housekept are why the pods may not be all:
		// in any case, where the cluster answered, once the housekeeping has run.
		incomplete, besideCluster, housekept string
	}{
		{"standalone", old, named("file"), "", "", ""},
		{"just started", young, named("file"), "it was started 1s ago", "it was started 1s ago", ""},
		{"before it has read its static pods", old, nil, noPod, "", ""},
		{"without a pod", follower, nil, noAPIPod, "", ""},
		{"its API server may not have answered", follower, named("file"), noAPIPod, "", ""},
		{"it has", follower, named("api"), "", "", ""},
		{"of an age that cannot be read", evidence{seen: true}, named("file"), "it was started 0s ago", "it was started 0s ago", ""},
		{"it does not name a static pod", withStatic(old), named("file"), noStatic, noStatic, noStatic},
		{"it was just started, and does not name a static pod", withStatic(young), named("file"), "it was started 1s ago", "it was started 1s ago", noStatic},
		{"it names its static pod", withStatic(old), slices.Concat(static, named("file")), "", "", ""},
		{"its static pods do not answer", hanging, named("file"), errHangs.Error(), errHangs.Error(), errHangs.Error()},
		{"not seen, without a pod", evidence{}, nil, noPod, "", ""},
		{"not seen", evidence{}, named("file"), "", "", ""},
	} {
		e := c.evidence
		e.pods = c.pods
		got := Answer{Source: "kubelet x"}
		got.judge(e)
		e.sources = sourcesRead
		kept := Answer{Source: "kubelet x"}
		kept.judge(e)
		for _, want := range []struct {
			what string
			err  error
			text string
		}{
			{"incomplete", got.Incomplete, c.incomplete}, {"incomplete beside the cluster", got.IncompleteBesideCluster, c.besideCluster},
			{"incomplete after its housekeeping", kept.Incomplete, c.housekept}, {"incomplete after its housekeeping beside the cluster", kept.IncompleteBesideCluster, c.housekept},
		} {
			if (want.err == nil) != (want.text == "") || want.err != nil && !strings.HasPrefix(want.err.Error(), "kubelet x may not name all of its pods: "+want.text) {
				t.Errorf("%s: %s: %v, want %q", c.name, want.what, want.err, want.text)
			}
		}
	}
}

// processAt is a kubelet whose read-only server is the one at the URL: this process.
func processAt(t *testing.T, server *httptest.Server) *Process {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a kubelet is asked in its network namespace")
	}
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{PID: os.Getpid(), age: time.Hour}
	p.settings.config.Address = "127.0.0.1"
	if p.settings.config.ReadOnlyPort, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	return p
}

const oneLocalPod = `{"kind": "PodList", "items": [{"metadata": {"name": "web"}}]}`

// The metrics are read only where the pods alone do not show that they are all, or
// where they are asked for; and the pods are asked for again after them.
func TestAskReadsMetricsOnlyIfNeeded(t *testing.T) {
	once, again := []string{"/pods"}, []string{"/pods", "/metrics", "/pods"}
	for _, c := range []struct {
		name      string
		age       time.Duration
		metrics   string
		question  Question
		asked     []string
		complete  bool
		undesired int
	}{
		{"settled", time.Hour, workingMetrics, Question{}, once, true, 0},
		{"settled, and the count is asked for", time.Hour, workingMetrics, Question{CountUndesired: true}, []string{"/pods", "/metrics"}, true, 6},
		{"started just now, after its housekeeping", time.Second, workingMetrics, Question{}, again, true, 6},
		{"started just now, after its housekeeping, and the count is asked for", time.Second, workingMetrics, Question{CountUndesired: true}, again, true, 6},
		{"started just now, before its housekeeping", time.Second, otherMetrics, Question{}, []string{"/pods", "/metrics"}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path)
				answer := c.metrics
				if r.URL.Path == "/pods" {
					answer = oneLocalPod
				}
				_, _ = io.WriteString(w, answer)
			}))
			defer server.Close()
			p := processAt(t, server)
			p.age = c.age
			for how, ask := range map[string]func() Answer{
				"by its settings": func() Answer { return p.Ask(t.Context(), c.question) },
				"by its URL":      func() Answer { return Options{URL: server.URL}.Ask(t.Context(), p, c.question) },
			} {
				asked = nil
				a := ask()
				if a.Err != nil || len(a.Pods) != 1 || (a.Incomplete == nil) != c.complete || a.Undesired != c.undesired || !slices.Equal(asked, c.asked) {
					t.Errorf("%s: %+v; asked for %v, want %v", how, a, asked, c.asked)
				}
				if a.PID != os.Getpid() || a.By.URL != server.URL || a.Source != "kubelet "+server.URL {
					t.Errorf("%s: answered by %+v", how, a)
				}
			}
		})
	}
}

// Every caller gets the same judgement: the static pods are read by Ask.
func TestAskReadsStaticPods(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind": "PodList", "items": [{"metadata": {"name": "web-n1", "namespace": "default"}}]}`)
	}))
	defer server.Close()
	own, named := t.TempDir(), t.TempDir()
	for path, name := range map[string]string{filepath.Join(own, "a.yaml"): "web", filepath.Join(named, "a.yaml"): "db"} {
		if err := os.WriteFile(path, []byte("kind: Pod\nmetadata: {name: "+name+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := processAt(t, server)
	p.root, p.NodeName, p.settings.config.StaticPodPath = "/", "N1", own
	for _, c := range []struct {
		name     string
		question Question
		want     string
	}{
		{"its own", Question{}, ""},
		{"of another node's name", Question{NodeName: "n2"}, "static pod default/web-n2 yet"},
		{"of a directory that is named", Question{StaticPods: named}, "static pod default/db-n1 yet"},
	} {
		a := p.Ask(t.Context(), c.question)
		if (a.Incomplete == nil) != (c.want == "") || a.Incomplete != nil && !strings.HasSuffix(a.Incomplete.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, a.Incomplete, c.want)
		}
	}
}

// A kubelet that does not answer has not named its pods.
func TestFailedAnswerIsIncomplete(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, a := range []Answer{processAt(t, server).Ask(t.Context(), Question{}), Options{URL: server.URL}.Ask(t.Context(), nil, Question{})} {
		if a.Err == nil || a.Incomplete == nil || a.IncompleteBesideCluster == nil || len(a.Pods) > 0 {
			t.Errorf("%+v", a)
		}
	}
}
