package podsync_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/pod"
)

const oraclePods = "../../../test/oracle/testdata/pods"

type recording struct {
	RemovedAfterMs int64 `json:"removedAfterMs"`
	Calls          []struct {
		Method    string `json:"method"`
		Container string `json:"container"`
		Err       string `json:"err"`
		Args      struct {
			Timeout  string   `json:"timeout"`
			Cmd      []string `json:"cmd"`
			Metadata struct {
				Attempt uint32 `json:"attempt"`
			} `json:"metadata"`
			Image struct {
				Image string `json:"image"`
			} `json:"image"`
		} `json:"args"`
	} `json:"calls"`
}

// TestCallsMatchRecordedKubelet runs every recorded pod against a runtime whose
// processes behave as the recorded ones did, and compares the calls that
// change something: their set, their order, attempts and stop timeouts. What
// may differ (doc.go of test/oracle) is evened out.
func TestCallsMatchRecordedKubelet(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(oraclePods, "*", "calls.json"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings in %s", oraclePods)
	}
	for _, path := range dirs {
		dir := filepath.Dir(path)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			rec, p := load(t, dir)
			synctest.Test(t, func(t *testing.T) { replay(t, rec, p) })
		})
	}
}

func load(t *testing.T, dir string) (recording, *v1.Pod) {
	t.Helper()
	var rec recording
	data, err := os.ReadFile(filepath.Join(dir, "calls.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "pod.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := &v1.Pod{}
	if err := yaml.Unmarshal(manifest, p); err != nil {
		t.Fatal(err)
	}
	p.UID = testUID
	return rec, defaulted(p)
}

func replay(t *testing.T, rec recording, p *v1.Pod) {
	b := newBench(t)
	b.rt.latency = 100 * time.Millisecond
	b.rt.program = recordedProgram(t)
	b.rt.execs = recordedExec
	b.rt.pullError = errors.New("connection refused")
	b.rt.ip = "127.0.0.1" // where hooks are answered at once, if only with a refusal
	b.rt.refuse = func(cfg *runtimeapi.ContainerConfig) error {
		if profile := cfg.Linux.SecurityContext.Seccomp; profile.GetProfileType() == runtimeapi.SecurityProfile_Localhost {
			return fmt.Errorf("cannot load seccomp profile %q", profile.LocalhostRef)
		}
		return nil
	}
	stop := b.probe(p)
	b.drive(p, time.Duration(rec.RemovedAfterMs)*time.Millisecond)
	stop()
	probed := hasProbes(p)
	got, want := evened(b.calls(), probed), evened(recorded(rec), probed)
	if !slices.Equal(got, want) {
		t.Errorf("calls differ\ngot:\n  %s\nkubelet:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	for _, v := range b.rt.violations {
		t.Error(v)
	}
}

func recorded(rec recording) []call {
	var out []call
	for _, c := range rec.Calls {
		timeout, _ := strconv.ParseInt(c.Args.Timeout, 10, 64)
		k := call{method: c.Method, container: c.Container, timeout: timeout, attempt: c.Args.Metadata.Attempt}
		switch c.Method {
		case "ExecSync":
			k.timeout, k.detail = 0, strings.Join(c.Args.Cmd, " ")
		case "PullImage":
			k.detail = c.Args.Image.Image
		}
		out = append(out, k)
	}
	return out
}

// evened evens out repeats of StopPodSandbox, the order of containers
// stopped in parallel, and the executions of probes.
func evened(calls []call, probed bool) []string {
	var out []string
	for _, c := range calls {
		if probed && c.method == "ExecSync" {
			continue
		}
		if c.method == "StopPodSandbox" && len(out) > 0 && out[len(out)-1] == c.String() {
			continue
		}
		out = append(out, c.String())
	}
	for i := range out {
		for j := i; j > 0 && strings.HasPrefix(out[j], "StopContainer") && strings.HasPrefix(out[j-1], "StopContainer") && out[j] < out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

// recordedProgram knows how the commands of the recorded pods behave. As the
// first process of its container a shell or sleep ignores TERM unless it traps
// it.
func recordedProgram(t *testing.T) func(cfg *runtimeapi.ContainerConfig) program {
	short := 10 * time.Millisecond
	return func(cfg *runtimeapi.ContainerConfig) program {
		argv := append(slices.Clone(cfg.Command), cfg.Args...)
		script := strings.Join(argv, " ")
		if len(argv) == 3 && argv[0] == "sh" {
			script = argv[2]
		}
		forever := program{onTerm: -1}
		switch {
		case script == "/no/such":
			return program{noStart: `exec: "/no/such": no such file or directory`}
		case strings.Contains(script, `trap "" TERM`):
			return forever
		case strings.Contains(script, `trap "sleep 1; exit 0" TERM`):
			return program{onTerm: time.Second}
		case strings.Contains(script, `trap "exit 0" TERM`):
			return program{}
		case strings.Contains(script, `trap "exit 7" USR1`):
			return forever // stopped in the recording with KILL: see render.Node.StopSignals
		case script == "sleep 3600", strings.HasSuffix(script, "sleep 30"), strings.Contains(script, "httpd -f"):
			return forever
		case script == "sleep 2":
			return program{lifetime: 2 * time.Second, onTerm: -1}
		case script == "sleep 1":
			return program{lifetime: time.Second, onTerm: -1}
		case script == "sleep 1; exit 42":
			return program{lifetime: time.Second, code: 42, onTerm: -1}
		case script == "exit 1":
			return program{lifetime: short, code: 1}
		case script == "exit 3":
			return program{lifetime: short, code: 3}
		case script == "true", script == "env", strings.HasPrefix(script, "echo "):
			return program{lifetime: short}
		}
		t.Errorf("recorded command %q is not known", script)
		return forever
	}
}

func recordedExec(command []string) (time.Duration, int32) {
	if command[len(command)-1] == "sleep 1" {
		return 1030 * time.Millisecond, 0
	}
	return 30 * time.Millisecond, 0
}

func hasProbes(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c v1.Container) bool {
		return c.LivenessProbe != nil || c.StartupProbe != nil || c.ReadinessProbe != nil
	})
}

// probe stands in for the prober: each liveness or startup probe of the
// recorded pods fails every time.
func (b *bench) probe(p *v1.Pod) (stop func()) {
	b.probes = pod.ProbeResults{Liveness: map[string]pod.ProbeResult{}, Startup: map[string]pod.ProbeResult{}}
	if !hasProbes(p) {
		return func() {}
	}
	c := &p.Spec.Containers[0]
	end := make(chan struct{})
	go func() {
		failures := map[string]int32{}
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-end:
				return
			}
			last := b.rt.snapshot().Container(c.Name)
			if last == nil || last.State != pod.Running {
				continue
			}
			failures[last.ID]++
			for probe, results := range map[*v1.Probe]map[string]pod.ProbeResult{
				c.LivenessProbe: b.probes.Liveness, c.StartupProbe: b.probes.Startup,
			} {
				if probe != nil && failures[last.ID] >= probe.FailureThreshold {
					b.probesMu.Lock()
					results[last.ID] = pod.ProbeFailure
					b.probesMu.Unlock()
					b.rt.poke()
				}
			}
		}
	}()
	return func() { close(end) }
}
