package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
)

// fields puts fields into the container of a pod of one.
func fields(yaml string, more ...string) string {
	return strings.Replace(yaml, "    command:", "    "+strings.Join(more, "\n    ")+"\n    command:", 1)
}

// reported waits until podctl has reported an event of the pod that has the
// words, for the nth time.
func (p *process) reported(n int, pod, reason, words string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%s of %s: %s", reason, pod, words), func() bool { return p.count(pod, reason, words) >= n },
		func() string { out, errw := p.output(); return out + errw })
}

func (p *process) count(pod, reason, words string) int {
	out, _ := p.output()
	n := 0
	for _, l := range lines(p.t, out[:strings.LastIndex(out, "\n")+1]) {
		if l.Name == pod && l.Reason == reason && strings.Contains(l.Message, words) {
			n++
		}
	}
	return n
}

const quick = "periodSeconds: 1, failureThreshold: 1"

// cgi is a web server on port 8080 whose page is what a script writes.
func cgi(script string) string {
	return `mkdir -p /www/cgi-bin; printf '%s\n' '#!/bin/sh' '` + script + `' > /www/cgi-bin/page; chmod +x /www/cgi-bin/page; httpd -p 8080 -h /www; `
}

// TestProbes has a pod per kind of probe, side by side in one podctl.
func TestProbes(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		health := p.path("mark") + "/health"
		if err := live.Build(health, "./test/live/health"); err != nil {
			t.Fatal(err)
		}
		// Its certificate is self-signed, and it redirects to another page.
		host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/moved" {
				http.Redirect(w, r, "/here", http.StatusFound)
			}
		}))
		defer host.Close()
		_, secure, err := net.SplitHostPort(host.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		const page = `echo "$HTTP_USER_AGENT|$HTTP_HOST|$HTTP_X_KEY|$HTTP_ACCEPT" >> /mark/http; [ -e /ready ] && echo "Status: 200 OK" || echo "Status: 503 No"; echo`
		yaml := strings.Join([]string{
			fields(p.marked("ready-http", cgi(page)+`while true; do [ -e /mark/on ] && touch /ready || rm -f /ready; sleep 0.1; done`, brief),
				`ports: [{name: web, containerPort: 8080}]`,
				`readinessProbe: {httpGet: {path: /cgi-bin/page, port: web, httpHeaders: [{name: Host, value: app}, {name: X-Key, value: k}]}, `+quick+`}`),
			fields(p.marked("live-exec", `echo start >> /mark/live; [ $(wc -l < /mark/live) = 1 ] && (until [ -s /mark/asked ]; do sleep 0.1; done; touch /sick) & trap "exit 0" TERM; `+forever),
				`livenessProbe: {exec: {command: [sh, -c, 'echo $0 asked >> /mark/asked; test ! -e /sick', $(WHO)]}, terminationGracePeriodSeconds: 3, `+quick+`}`,
				`env: [{name: WHO, value: probe}]`),
			fields(p.marked("start-tcp", `until [ -e /mark/open ]; do sleep 0.1; done; echo open >> /mark/order; nc -ll -p 9000 -e true`, brief),
				`startupProbe: {tcpSocket: {port: 9000}, periodSeconds: 1, failureThreshold: 30}`,
				`livenessProbe: {exec: {command: [sh, -c, "echo alive >> /mark/order"]}, `+quick+`}`),
			fields(p.marked("ready-grpc", "exec /mark/health 9090 /mark/serve", brief),
				`readinessProbe: {grpc: {port: 9090, service: app}, `+quick+`}`),
			fields(p.marked("ready-https", server, brief),
				`readinessProbe: {httpGet: {scheme: HTTPS, host: 127.0.0.1, port: `+secure+`, path: /moved}, `+quick+`}`),
			fields(p.marked("bad-port", server, brief), `readinessProbe: {httpGet: {port: nope}, periodSeconds: 1}`),
		}, "")
		run := p.start(yaml, "-o", "json", "-")

		run.reported(1, "ready-http", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")
		if n := run.count("ready-http", "Ready", ""); n > 0 {
			t.Error("ready before its probe succeeded")
		}
		p.mark("on")
		run.reported(1, "ready-http", "Ready", "all containers are ready")
		p.unmark("on")
		run.reported(1, "ready-http", "NotReady", "containers with unready status: [c]")
		p.mark("on")
		run.reported(2, "ready-http", "Ready", "")
		if asked := p.marks("http"); len(asked) == 0 || asked[0] != "kube-probe/1.37|app|k|*/*" {
			t.Errorf("inside it was asked as %q", asked)
		}

		run.reported(1, "live-exec", "Unhealthy", "Liveness probe failed: ")
		run.reported(1, "live-exec", "Killing", "Container c failed liveness probe, will be restarted")
		run.reported(2, "live-exec", "Started", "")
		p.getsLines("live", "start", "start")
		if asked := p.marks("asked"); len(asked) < 2 || asked[0] != "probe" {
			t.Errorf("the probe's command wrote %q", asked)
		}

		run.reported(1, "start-tcp", "Unhealthy", "Startup probe failed: dial tcp")
		p.mark("open")
		run.reported(1, "start-tcp", "Ready", "")
		eventually(t, "liveness is asked", func() bool { return slices.Contains(p.marks("order"), "alive") }, func() string { return "" })
		if order := p.marks("order"); order[0] != "open" {
			t.Errorf("order %q; want the startup to hold the liveness probe", order)
		}

		run.reported(1, "ready-grpc", "Unhealthy", `Readiness probe failed: service unhealthy (responded with "NOT_SERVING")`)
		p.mark("serve")
		run.reported(1, "ready-grpc", "Ready", "")
		run.reported(1, "ready-https", "Ready", "all containers are ready")
		run.reported(2, "bad-port", "Unhealthy", `Readiness probe errored and resulted in unknown state: port "nope" not found`)
		if n := run.count("bad-port", "Ready", ""); n > 0 {
			t.Error("bad-port is ready")
		}
		run.signal(syscall.SIGINT)
		run.wait()
	})
}

// TestHooks has a pod per kind of hook, side by side in one podctl.
func TestHooks(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		asked := make(chan string, 10)
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case asked <- r.UserAgent() + "|" + r.URL.Path:
			default:
			}
			w.WriteHeader(http.StatusInternalServerError) // which a hook does not mind
		}))
		defer host.Close()
		_, port, err := net.SplitHostPort(host.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		const page = `echo "http-$HTTP_USER_AGENT" >> /mark/http; echo "Status: 200 OK"; echo`
		const grace = "terminationGracePeriodSeconds: 20"
		stopped := func(mark string) string {
			return `trap "echo term >> /mark/` + mark + `; exit 0" TERM; ` + forever
		}
		yaml := strings.Join([]string{
			fields(p.marked("exec", "echo up >> /mark/exec; "+stopped("exec"), grace),
				`lifecycle: {postStart: {exec: {command: [sh, -c, "until [ -s /mark/exec ]; do sleep 0.1; done; sleep 0.5; echo post >> /mark/exec"]}}, preStop: {exec: {command: [sh, -c, "echo pre >> /mark/exec"]}}}`),
			fields(p.marked("http", cgi(page)+stopped("http"), grace),
				`lifecycle: {postStart: {httpGet: {host: 127.0.0.1, port: `+port+`, path: /begun}}, preStop: {httpGet: {port: 8080, path: /cgi-bin/page}}}`),
			fields(p.marked("fallback", server, brief), `lifecycle: {postStart: {httpGet: {scheme: HTTPS, host: 127.0.0.1, port: `+port+`}}}`),
			fields(p.marked("sleep", `trap "date +%s >> /mark/sleep; exit 0" TERM; `+forever, grace),
				`lifecycle: {postStart: {sleep: {seconds: 1}}, preStop: {sleep: {seconds: 2}}}`),
			fields(p.marked("long", stopped("long"), "terminationGracePeriodSeconds: 2"),
				`lifecycle: {preStop: {exec: {command: [sh, -c, "sleep 600"]}}}`),
			fields(p.marked("tcp", "echo up >> /mark/tcp; "+stopped("tcp"), brief), `lifecycle: {postStart: {tcpSocket: {port: 1}}}`),
			fields(p.marked("refused", stopped("refused"), brief), `lifecycle: {preStop: {httpGet: {port: 1}}}`),
		}, "")
		run := p.start(yaml, "-o", "json", "-")
		for _, name := range []string{"exec", "http", "sleep", "long", "refused", "fallback"} {
			run.reported(1, name, "Ready", "")
		}
		run.reported(1, "fallback", "LifecycleHTTPFallback", "request to HTTPS lifecycle hook 127.0.0.1:"+port+" got HTTP response, retry with HTTP succeeded")
		run.reported(1, "tcp", "FailedPostStartHook", "tcpSocket is for probes only")
		run.reported(1, "tcp", "Killing", "FailedPostStartHook")
		run.reported(1, "tcp", "Exited", "")
		for range 2 {
			if got := <-asked; got != "kube-lifecycle/1.37|/begun" && got != "kube-lifecycle/1.37|/" {
				t.Errorf("the host was asked as %q", got)
			}
		}
		p.has("exec", "up", "post")
		began := int(time.Now().Unix())
		run.signal(syscall.SIGINT)
		run.wait()
		p.has("exec", "up", "post", "pre", "term")
		p.has("http", "http-kube-lifecycle/1.37", "term")
		p.has("long", "term") // after its hook had the whole grace, in the two seconds left
		if n := run.count("refused", "FailedPreStopHook", "PreStopHook failed"); n != 1 {
			t.Errorf("%d failures of the hook to a port without a listener; want 1", n)
		}
		if ended := p.marks("sleep"); len(ended) != 1 || atoi(t, ended[0]) < began+2 {
			t.Errorf("stopped at %q, after a removal at %d; want the hook's two seconds between", ended, began)
		}
	})
}

// TestStopSignal: the process gets the signal that the manifest names, where
// the runtime supports it; elsewhere the pod does not start.
func TestStopSignal(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		yaml := fields(p.marked("web", `trap "echo term >> /mark/sig; exit 0" TERM; trap "echo usr1 >> /mark/sig; exit 0" USR1; echo up >> /mark/sig; `+forever, "os: {name: linux}"),
			`lifecycle: {stopSignal: SIGUSR1}`)
		run := p.start(yaml, "-o", "json", "-")
		if rt.Kind == live.Distro || rt.Kind == live.Containerd17 {
			run.reported(1, "web", "StopSignalNotSupported", "SIGUSR1")
			if code := run.wait(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			return
		}
		run.reported(1, "web", "Ready", "")
		eventually(t, "the container listens to signals", func() bool { return len(p.marks("sig")) > 0 }, p.outputs)
		run.signal(syscall.SIGINT)
		run.wait()
		p.has("sig", "up", "usr1")
	})
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
