package restart

import (
	"errors"
	"testing"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/sys/hint"
)

// What is known to have an owner that starts its containers again is restarted; what is not
// known with force.
func TestDecideByVerdict(t *testing.T) {
	unknown := errors.New("not known")
	agent := owners.Process{Process: control.Process{Name: "agent"}}
	elsewhere, silent := agent, agent
	elsewhere.Elsewhere, silent.Err = true, unknown
	const refused, forced, done = "refused", "with force", "done"
	for name, c := range map[string]struct {
		verdict        owners.Verdict
		restart, route string
	}{
		"its podctl process manages it":  {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: agent}, done, "process"},
		"that does not answer":           {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: silent}, refused, ""},
		"that uses another endpoint":     {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: elsewhere}, refused, ""},
		"its lock cannot be read":        {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: owners.Process{Err: unknown}}, refused, ""},
		"a podctl process waits for it":  {owners.Verdict{Relation: owners.Desires, Kind: owners.ByPodctl, Process: agent}, refused, ""},
		"its kubelet names it":           {owners.Verdict{Relation: owners.Desires, Kind: owners.ByKubelet}, done, "kubelet"},
		"a static manifest names it":     {owners.Verdict{Relation: owners.Desires, Kind: owners.BySource, Source: "web.yaml"}, forced, "kubelet"},
		"its kubelet terminates it":      {owners.Verdict{Relation: owners.Terminates, Kind: owners.ByKubelet}, refused, ""},
		"its kubelet does not answer":    {owners.Verdict{Relation: owners.Unknown, Kind: owners.ByKubelet, Why: unknown}, forced, "kubelet"},
		"a process may be alive, unseen": {owners.Verdict{Relation: owners.Unknown, Kind: owners.ByPodctl, Why: unknown}, refused, ""},
		"nobody's":                       {owners.Verdict{}, refused, ""},
	} {
		answer := func(ask func(force bool) error) string {
			switch without, with := ask(false), ask(true); {
			case without == nil && with == nil:
				return done
			case with == nil:
				if hint.Of(without) == "" {
					t.Errorf("%s: no hint of --force: %v", name, without)
				}
				return forced
			}
			return refused
		}
		var route string
		if got := answer(func(force bool) error {
			how, err := decide(c.verdict, force)
			if err == nil {
				route = map[way]string{byProcess: "process", byKubelet: "kubelet"}[how]
			}
			return err
		}); got != c.restart || route != c.route {
			t.Errorf("%s: restart %s by %q, want %s by %q", name, got, route, c.restart, c.route)
		}
	}
}
