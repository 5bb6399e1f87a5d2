package oracle

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/podsync"
)

// TestActions gives every recorded pod and runtime to podsync.Actions and
// compares the plan with the kubelet's podActions.
func TestActions(t *testing.T) {
	counts := tally{rows: map[string]int{}}
	readRecorded(t, "actions", func(c actionsCase) {
		judge(t, &counts, c, c.Name, actionsRows, c.want(), podctlActions(c))
	})
	counts.log(t, "actions")
}

// actionsCase is one line of the recording.
type actionsCase struct {
	Name  string `json:"name"`
	Input struct {
		Pod        *v1.Pod         `json:"pod"`
		Runtime    recordedRuntime `json:"runtime"`
		Probes     recordedProbes  `json:"probes"`
		RestartAll bool            `json:"restartAllContainers"`
	} `json:"input"`
	Want recordedActions `json:"want"`
}

type recordedActions struct {
	KillPod       bool                    `json:"killPod"`
	CreateSandbox bool                    `json:"createSandbox"`
	SandboxID     string                  `json:"sandboxID"`
	Attempt       uint32                  `json:"attempt"`
	Ephemeral     []string                `json:"ephemeralContainersToStart"`
	Init          []string                `json:"initContainersToStart"`
	Containers    []string                `json:"containersToStart"`
	Kill          map[string]recordedKill `json:"containersToKill"`
	Reset         []recordedReset         `json:"containersToReset"`
	Removed       []string                `json:"removed"`
	RestartAll    bool                    `json:"shouldRestartAll"`
}

type recordedKill struct {
	Name    string `json:"name"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type recordedReset struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kill bool   `json:"kill"`
}

// actionsRows are the differences that docs/kubelet-differences.md lists.
var actionsRows = []documented[actionsCase, recordedActions]{}

// want is the kubelet's answer. It removes containers in the order of a map.
func (c actionsCase) want() recordedActions {
	slices.Sort(c.Want.Removed)
	return c.Want
}

func podctlActions(c actionsCase) recordedActions {
	p := c.Input.Pod
	st := c.Input.Runtime.status(p)
	plan := podsync.Actions(p, st, podsync.ActionInput{Probes: c.Input.Probes.results(), RestartAll: c.Input.RestartAll})
	got := recordedActions{
		KillPod: plan.KillPod, CreateSandbox: plan.CreateSandbox, SandboxID: plan.SandboxID, Attempt: plan.Attempt,
		Kill: map[string]recordedKill{}, RestartAll: podsync.RestartsAll(p, st, &p.Status),
	}
	for _, s := range plan.Ephemeral {
		got.Ephemeral = append(got.Ephemeral, s.Container.Name)
	}
	for _, s := range plan.Init {
		got.Init = append(got.Init, s.Container.Name)
	}
	for _, s := range plan.Containers {
		got.Containers = append(got.Containers, s.Container.Name)
	}
	for _, k := range plan.Kill {
		got.Kill[k.ID] = recordedKill{Name: k.Name, Reason: string(k.Reason), Message: k.Message}
	}
	for _, r := range plan.Reset {
		got.Reset = append(got.Reset, recordedReset{ID: r.ID, Name: r.Name, Kill: r.Kill})
	}
	if len(plan.Reset) == 0 { // else it is not recorded what else is removed
		got.Removed = plan.Remove
		slices.Sort(got.Removed)
	}
	return got
}
