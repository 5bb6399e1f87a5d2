package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/test/live"
)

// requesting is a manifest whose container requests that much cpu.
func requesting(cpu, yaml string) string {
	return strings.Replace(yaml, "    command:", "    resources: {requests: {cpu: "+cpu+"}}\n    command:", 1)
}

const criticalClass = "priorityClassName: system-node-critical"

// podctl runs a command of podctl's to its end.
func (p *place) podctl(args ...string) (out, errw string, code int) {
	p.t.Helper()
	proc := p.command("", exec.Command(binary, append(p.flags(), args...)...))
	code = proc.wait()
	out, errw = proc.output()
	return out, errw, code
}

// A full node, and a critical pod: the predicted victims are evicted, and no other
// pod.
func TestCriticalPodEvictsThePredictedVictims(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		for name, cpu := range map[string]string{"small": "200m", "middle": "300m", "big": "500m"} {
			a.put(name+".yaml", requesting(cpu, a.marking(name, "")))
		}
		agent := a.agent("--capacity", "cpu=1,memory=8Gi,pods=10", "--drain")
		for _, name := range []string{"small", "middle", "big"} {
			a.wrote(name, "up")
		}
		critical := requesting("400m", a.marking("dns", "", criticalClass))
		file := a.path("dns.yaml")
		if err := os.WriteFile(file, []byte(critical), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errw, code := a.podctl("preempt", "--dry-run", "-f", file, "-o", "json")
		var said struct {
			Sources []struct {
				Name string
				Pods int
			}
			Arrivals []struct {
				Admitted bool
				Plan     struct {
					Verdicts []struct {
						Pod  struct{ Name string }
						Kill int
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &said); err != nil || code != 0 || len(said.Arrivals) != 1 || !said.Arrivals[0].Admitted {
			t.Fatalf("exit %d, %v\n%s%s", code, err, out, errw)
		}
		if len(said.Sources) != 1 || said.Sources[0].Name != "agent" || said.Sources[0].Pods != 3 {
			t.Errorf("asked %+v, want the agent with its 3 pods", said.Sources)
		}
		var predicted []string
		for _, v := range said.Arrivals[0].Plan.Verdicts {
			if v.Kill > 0 {
				predicted = append(predicted, v.Pod.Name)
			}
		}
		if want := []string{"big"}; !slices.Equal(predicted, want) {
			t.Fatalf("predicted %q, want %q\n%s", predicted, want, out)
		}
		a.has("big", "up") // no pod was touched

		a.put("dns.yaml", critical)
		a.wrote("dns", "up")
		a.has("big", "up", "down")
		a.has("small", "up")
		a.has("middle", "up")
		if p := a.shown("big"); p.Status.Phase != v1.PodFailed || p.Status.Reason != "Preempting" {
			t.Errorf("big is %s, %q", p.Status.Phase, p.Status.Reason)
		}
		// One that is not critical evicts no pod.
		a.put("late.yaml", requesting("200m", a.marking("late", "")))
		agent.prints("OutOfcpu")
		if p := a.shown("late"); p.Status.Phase != v1.PodFailed || p.Status.Reason != "OutOfcpu" {
			t.Errorf("late is %s, %q", p.Status.Phase, p.Status.Reason)
		}
		// Without --dry-run the victims go, and only they.
		next := a.path("next.yaml")
		if err := os.WriteFile(next, []byte(requesting("300m", a.marking("next", "", criticalClass))), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errw, code := a.podctl("preempt", "-f", next); code != 0 || !strings.Contains(out, "evicted default/small\n") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		a.has("small", "up", "down")
		a.has("middle", "up")
		a.has("dns", "up")
		agent.ends(syscall.SIGTERM, 0)
		for _, name := range []string{"small", "middle", "big", "dns", "late"} {
			a.remove(name + ".yaml")
		}
		last := a.agent("--drain")
		a.holds()
		last.ends(syscall.SIGTERM, 0)
	})
}

// shown is a pod as the agent's socket shows it.
func (a *agentPlace) shown(name string) v1.Pod {
	a.t.Helper()
	list, err := a.control().Pods(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range list.Items {
		if p.Name == name {
			return p
		}
	}
	a.t.Fatalf("the agent does not show %s: %d pods", name, len(list.Items))
	return v1.Pod{}
}
