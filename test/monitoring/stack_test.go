package monitoring

import (
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/sys/ownsocket"
	"github.com/podctl/podctl/test/live"
)

// waitLimit bounds each wait of the test.
const waitLimit = 3 * time.Minute

// until waits for a condition, which it asks for five times a second.
func until(t *testing.T, what string, is func() (bool, any)) {
	t.Helper()
	last, began := any(nil), time.Now()
	for deadline := began.Add(waitLimit); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		ok, seen := is()
		if ok {
			t.Logf("%s after %v", what, time.Since(began).Round(100*time.Millisecond))
			return
		}
		last = seen
	}
	t.Fatalf("%s: not within %v, but %v", what, waitLimit, last)
}

// observer starts podctl agent --observe on a simulated runtime in this process, and
// returns that and the address of its metrics.
func observer(t *testing.T) (rt *sim.Runtime, address string) {
	t.Helper()
	dir := t.TempDir()
	podctl := filepath.Join(dir, "podctl")
	if err := live.Build(podctl, "./cmd/podctl"); err != nil {
		t.Fatal(err)
	}
	rt = sim.New(sim.Options{})
	t.Cleanup(rt.Close)
	socket := filepath.Join(dir, "cri.sock")
	l, err := ownsocket.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- rt.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	if address, err = FreeAddress(); err != nil {
		t.Fatal(err)
	}
	stop, err := Start(dir, []string{"PODCTL_ROOT=" + dir + "/root", "PODCTL_RUN_DIR=" + dir + "/run", "PODCTL_LOG_DIR=" + dir + "/logs"},
		podctl, "-r", "unix://"+socket, "agent", "--observe", "--listen", address, "--scan-period", "2s", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	until(t, "the observer is ready", func() (bool, any) { return status(address, "/readyz") })
	return rt, address
}

// status reports whether a path is answered with 200, else what came instead.
func status(address, path string) (bool, any) {
	resp, err := http.Get("http://" + address + path)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK, resp.Status
}

// TestAlertsFireAndResolve: a real Prometheus with the shipped rules scrapes a live
// observer; an orphan and a hanging runtime fire their alerts, and
// these resolve. The durations of the rules are shortened: see ShortenRules.
func TestAlertsFireAndResolve(t *testing.T) {
	prometheus := tool(t, "prometheus")
	rt, address := observer(t)
	rules, err := ShortenRules(string(read(t, "rules.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	p, err := StartPrometheus(StackOptions{Binary: prometheus, Dir: t.TempDir(), Rules: rules, Target: address, Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	fires := func(alert string, want bool) func() (bool, any) {
		return func() (bool, any) {
			got, err := p.Firing(t.Context())
			return err == nil && slices.Contains(got, alert) == want, []any{got, err}
		}
	}
	const orphan, hang = "PodctlOrphans/runtime-only", "PodctlRuntimeHangs"
	total := 0
	for _, g := range readRules(t).Groups {
		total += len(g.Rules)
	}
	until(t, "every rule is evaluated", func() (bool, any) {
		bad, good, err := p.BadRules(t.Context())
		if len(bad) > 0 {
			t.Fatalf("rules fail: %q", bad)
		}
		return good == total, err
	})
	until(t, "the observer is scraped", func() (bool, any) {
		nodes, err := p.Range(t.Context(), `cluster:podctl_nodes:count`, time.Now().Add(-time.Second), time.Second)
		return len(nodes) == 1, err
	})
	for _, alert := range []string{orphan, hang} {
		if quiet, seen := fires(alert, false)(); !quiet {
			t.Fatalf("of a healthy node %s fires: %v", alert, seen)
		}
	}

	sandbox, err := rt.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "left", Namespace: "default", Uid: "u1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the orphan's alert fires", fires(orphan, true))
	if quiet, seen := fires(hang, false)(); !quiet {
		t.Errorf("beside an orphan the hang's alert fires: %v", seen)
	}

	answer := rt.Inject("method=ListPodSandbox hang")
	until(t, "the hang's alert fires", fires(hang, true))
	if alive, seen := status(address, "/healthz"); !alive {
		t.Errorf("a runtime that hangs fails the liveness probe: %v", seen)
	}
	for _, row := range Rows() {
		for _, panel := range row.Panels {
			for _, q := range panel.Queries {
				if _, err := p.Range(t.Context(), q.Expr, time.Now().Add(-10*time.Second), time.Second); err != nil {
					t.Errorf("%s: %v", panel.Title, err)
				}
			}
		}
	}
	answer()
	until(t, "the hang's alert resolves", fires(hang, false))
	until(t, "the orphan is counted again", fires(orphan, true))

	if _, err := rt.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox.PodSandboxId}); err != nil {
		t.Fatal(err)
	}
	until(t, "the orphan's alert resolves", fires(orphan, false))
}
