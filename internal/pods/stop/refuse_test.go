package stop

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
)

func TestRefusedByVerdict(t *testing.T) {
	unknown := errors.New("not known")
	const uid = "uid-web"
	workers := func(w control.Worker) map[types.UID]control.Worker { return map[types.UID]control.Worker{uid: w} }
	agent := owners.Process{Process: control.Process{Name: "agent"}, Settled: true, Workers: workers(control.Worker{UID: uid})}
	waits := agent
	waits.Settled, waits.Workers = false, workers(control.Worker{UID: uid, Rejected: "NameHeld"})
	elsewhere, other, starts, command := agent, agent, agent, agent
	elsewhere.Elsewhere = true
	other.Workers = nil
	starts.Settled, starts.Workers = false, nil
	command.Settled, command.Workers, command.Name = false, nil, "stop-1"
	for name, c := range map[string]struct {
		verdict        owners.Verdict
		refused        bool
		besidesKubelet bool // refused with --beside-kubelet, too
	}{
		"nobody's":                         {owners.Verdict{}, false, false},
		"a process waits for it":           {owners.Verdict{Relation: owners.Desires, Kind: owners.ByPodctl, Process: waits}, false, false},
		"a process elsewhere waits for it": {owners.Verdict{Relation: owners.Desires, Kind: owners.ByPodctl, Process: elsewhere}, true, true},
		"a process manages it by now":      {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: agent}, true, true},
		"a process has another pod of its name: the lock decides": {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: other}, false, false},
		"a command holds its name: the lock decides":              {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: command}, false, false},
		"its process has yet to adopt its pods":                   {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: starts}, true, true},
		"its lock cannot be read":                                 {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: owners.Process{Err: unknown}}, true, true},
		"a process elsewhere manages it":                          {owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: elsewhere}, true, true},
		"a process elsewhere may manage it":                       {owners.Verdict{Relation: owners.Unknown, Kind: owners.ByPodctl, Process: elsewhere, Why: unknown}, true, true},
		"processes cannot be seen":                                {owners.Verdict{Relation: owners.Unknown, Kind: owners.ByPodctl, Why: unknown}, true, true},
		"a kubelet's":                                             {owners.Verdict{Relation: owners.Desires, Kind: owners.ByKubelet}, true, false},
		"a static pod's":                                          {owners.Verdict{Relation: owners.Desires, Kind: owners.BySource}, true, false},
		"its kubelet terminates it":                               {owners.Verdict{Relation: owners.Terminates, Kind: owners.ByKubelet}, true, false},
		"its kubelet is not known":                                {owners.Verdict{Relation: owners.Unknown, Kind: owners.ByKubelet, Why: unknown}, true, false},
	} {
		s := &Stopper{}
		if err := s.refuse(uid, c.verdict); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		s.BesideKubelet = true
		if err := s.refuse(uid, c.verdict); (err != nil) != c.besidesKubelet {
			t.Errorf("%s, with --beside-kubelet: %v", name, err)
		}
	}
}
