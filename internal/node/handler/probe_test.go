package handler_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podctl/podctl/internal/node/handler"
)

func named(port string) intstr.IntOrString { return intstr.FromString(port) }

// targetOf is a container that serves url at its port "web", and the action
// that gets a path from it.
func targetOf(t *testing.T, rawURL, path string) (handler.Target, *v1.HTTPGetAction) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	c := &v1.Container{Name: "c", Ports: []v1.ContainerPort{{Name: "other", ContainerPort: 1}, {Name: "web", ContainerPort: int32(number)}}}
	return handler.Target{ContainerID: "c1", Container: c, PodIP: u.Hostname()},
		&v1.HTTPGetAction{Path: path, Port: intstr.FromInt(number), Scheme: v1.URIScheme(strings.ToUpper(u.Scheme))}
}

// deadURL is a URL at which no process listens.
func deadURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func probe(h v1.ProbeHandler) *v1.Probe { return &v1.Probe{ProbeHandler: h, TimeoutSeconds: 5} }

// site has a page per thing that an HTTP probe may meet.
func site() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.WriteHeader(code)
		fmt.Fprint(w, "body of ", code)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("u"))
		w.WriteHeader(http.StatusFound)
		fmt.Fprint(w, "elsewhere")
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/loop")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 30<<10)) })
	return mux
}

func TestHTTPProbeResult(t *testing.T) {
	server := httptest.NewServer(site())
	defer server.Close()
	other := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for path, want := range map[string]string{
		"/status/200":                  "success: body of 200",
		"/status/299":                  "success: body of 299",
		"/status/399":                  "warning: Probe terminated redirects, Response body: body of 399",
		"/status/400":                  "failure: HTTP probe failed with statuscode: 400",
		"/status/503":                  "failure: HTTP probe failed with statuscode: 503",
		"/to?u=/status/200":            "success: body of 200",
		"/to?u=/status/500":            "failure: HTTP probe failed with statuscode: 500",
		"/to?u=" + other + "/status/5": "warning: Probe terminated redirects, Response body: elsewhere",
		"/loop":                        "failure: Get \"/loop\": stopped after 10 redirects",
		"/long":                        "success: " + strings.Repeat("x", 10<<10),
	} {
		target, get := targetOf(t, server.URL, path)
		result, output, err := handler.Probe(t.Context(), nil, target, probe(v1.ProbeHandler{HTTPGet: get}))
		if got := result.String() + ": " + output; got != want || err != nil {
			t.Errorf("%s: %.80s, %v; want %.80s", path, got, err, want)
		}
	}
}

// kubernetes is the version that the user agents have, 1.MINOR: that of the modules.
func kubernetes(t *testing.T) string {
	modules, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(modules), "k8s.io/api v0.")
	minor, _, _ := strings.Cut(version, ".")
	return "1." + minor
}

func TestHTTPProbeRequest(t *testing.T) {
	var got *http.Request
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	defer server.Close()
	for _, c := range []struct {
		headers []v1.HTTPHeader
		want    string
	}{
		{nil, "kube-probe/" + kubernetes(t) + " */* host"},
		{[]v1.HTTPHeader{{Name: "Host", Value: "h"}}, "kube-probe/" + kubernetes(t) + " */* h"},
		{[]v1.HTTPHeader{{Name: "accept", Value: "text/plain"}, {Name: "User-Agent", Value: "me"}}, "me text/plain host"},
		{[]v1.HTTPHeader{{Name: "Accept"}}, "kube-probe/" + kubernetes(t) + " - host"},
	} {
		target, get := targetOf(t, server.URL, "/")
		get.HTTPHeaders, get.Port = c.headers, named("web")
		if result, output, err := handler.Probe(t.Context(), nil, target, probe(v1.ProbeHandler{HTTPGet: get})); result != handler.Success || err != nil {
			t.Fatalf("%v %q %v; want success without verifying the certificate", result, output, err)
		}
		accept := "-"
		if a, ok := got.Header["Accept"]; ok {
			accept = a[0]
		}
		host := strings.Replace(got.Host, strings.TrimPrefix(server.URL, "https://"), "host", 1)
		if asked := got.UserAgent() + " " + accept + " " + host; asked != c.want || got.Header.Get("Accept-Encoding") != "" {
			t.Errorf("asked as %q, want %q; %v", asked, c.want, got.Header)
		}
	}
}

func TestHTTPProbeFailsOnTimeoutAndWithoutServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	target, get := targetOf(t, server.URL, "/")
	p := probe(v1.ProbeHandler{HTTPGet: get})
	p.TimeoutSeconds = 1
	result, output, err := handler.Probe(t.Context(), nil, target, p)
	if result != handler.Failure || err != nil || !strings.Contains(output, "Client.Timeout exceeded") {
		t.Errorf("%v %q %v; want a timeout", result, output, err)
	}
	target, get = targetOf(t, deadURL(t), "/")
	result, output, err = handler.Probe(t.Context(), nil, target, probe(v1.ProbeHandler{HTTPGet: get}))
	if result != handler.Failure || err != nil || !strings.Contains(output, "connection refused") {
		t.Errorf("%v %q %v; want a refusal", result, output, err)
	}
}

func TestTCPProbe(t *testing.T) {
	server := httptest.NewServer(nil)
	defer server.Close()
	target, get := targetOf(t, server.URL, "/")
	tcp := func(host, port string) *v1.Probe {
		return probe(v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Host: host, Port: intstr.Parse(port)}})
	}
	if result, output, err := handler.Probe(t.Context(), nil, target, tcp("", "web")); result != handler.Success || err != nil {
		t.Errorf("%v %q %v; want success", result, output, err)
	}
	target.PodIP = "192.0.2.1"
	if result, output, err := handler.Probe(t.Context(), nil, target, tcp("127.0.0.1", get.Port.String())); result != handler.Success || err != nil {
		t.Errorf("host of its own: %v %q %v; want success", result, output, err)
	}
	dead, get := targetOf(t, deadURL(t), "/")
	if result, output, err := handler.Probe(t.Context(), nil, dead, tcp("", get.Port.String())); result != handler.Failure || err != nil || !strings.Contains(output, "refused") {
		t.Errorf("%v %q %v; want a refusal", result, output, err)
	}
}

func TestInvalidPortIsUnknown(t *testing.T) {
	target, _ := targetOf(t, "http://127.0.0.1:80", "/")
	for want, port := range map[string]intstr.IntOrString{
		`port "nope" not found`:      intstr.FromString("nope"),
		"invalid port number: 0":     intstr.FromInt32(0),
		"invalid port number: 65536": intstr.FromInt32(65536),
	} {
		for _, h := range []v1.ProbeHandler{
			{TCPSocket: &v1.TCPSocketAction{Port: port}},
			{HTTPGet: &v1.HTTPGetAction{Port: port}},
		} {
			if _, _, err := handler.Probe(t.Context(), nil, target, probe(h)); err == nil || err.Error() != want {
				t.Errorf("port %s: error %v; want %s", port.String(), err, want)
			}
		}
	}
}

func TestExecProbe(t *testing.T) {
	broken := errors.New("container is gone")
	for name, c := range map[string]struct {
		output string
		code   int32
		err    error
		want   string
	}{
		"success":        {"fine", 0, nil, "success: fine, <nil>"},
		"exit code":      {"bad\n", 1, nil, "failure: bad\n, <nil>"},
		"timeout":        {"", 0, fmt.Errorf("exec: %w", context.DeadlineExceeded), `failure: command timed out: "cat $(F) $(S)" timed out after 5s, <nil>`},
		"no answer":      {"", 0, broken, "unknown: , container is gone"},
		"limited output": {strings.Repeat("x", 20<<10), 1, nil, "failure: " + strings.Repeat("x", 10<<10) + ", <nil>"},
	} {
		var command []string
		var timeout time.Duration
		x := execFunc(func(_ context.Context, _ string, c2 []string, d time.Duration) ([]byte, int32, error) {
			command, timeout = c2, d
			return []byte(c.output), c.code, c.err
		})
		target := handler.Target{ContainerID: "c1", Container: &v1.Container{Env: []v1.EnvVar{
			{Name: "F", Value: "/f"}, {Name: "S", ValueFrom: &v1.EnvVarSource{}},
		}}}
		result, output, err := handler.Probe(t.Context(), x, target, probe(v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"cat", "$(F)", "$(S)"}}}))
		if got := fmt.Sprintf("%v: %s, %v", result, output, err); got != c.want {
			t.Errorf("%s: %.100q; want %.100q", name, got, c.want)
		}
		if timeout != 5*time.Second || !slices.Equal(command, []string{"cat", "/f", ""}) {
			t.Errorf("%s: ran %q with timeout %v", name, command, timeout)
		}
	}
}

func TestCanceledProbeIsUnknown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	x := execFunc(func(context.Context, string, []string, time.Duration) ([]byte, int32, error) {
		cancel()
		return []byte("killed"), 137, nil
	})
	if _, output, err := handler.Probe(ctx, x, handler.Target{}, probe(v1.ProbeHandler{Exec: &v1.ExecAction{}})); !errors.Is(err, context.Canceled) || output != "" {
		t.Errorf("%q, %v; want the context's error alone", output, err)
	}
}
