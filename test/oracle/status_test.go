package oracle

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/podsync"
)

// TestStatus gives every recorded pod, runtime and history to
// podsync.PodStatus, and its answer to podsync.Settle and podsync.Finish, and
// compares the three statuses with those of the kubelet's
// generateAPIPodStatus, SetPodStatus and TerminatePod.
func TestStatus(t *testing.T) {
	counts := tally{rows: map[string]int{}}
	readRecorded(t, "status", func(c statusCase) {
		want, got := statuses(t, c)
		judge(t, &counts, c, c.Name, statusRows, want, got)
	})
	counts.log(t, "status")
}

// statusCase is one line of the recording.
type statusCase struct {
	Name  string `json:"name"`
	Input struct {
		Pod     *v1.Pod         `json:"pod"`
		Runtime recordedRuntime `json:"runtime"`
		Probes  recordedProbes  `json:"probes"`
		Old     *v1.PodStatus   `json:"old"`
		Waiting map[string]struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"waiting"`
		Terminal     bool      `json:"terminal"`
		HostIPs      []string  `json:"hostIPs"`
		KubeletStart time.Time `json:"kubeletStart"`
		Now          time.Time `json:"now"`
	} `json:"input"`
	Want struct {
		Status fields `json:"status"`
		// Stored and Final hold the fields that differ from the one before.
		Stored    fields `json:"stored"`
		Final     fields `json:"final"`
		Aborted   bool   `json:"aborted"`
		Unchanged bool   `json:"unchanged"`
	} `json:"want"`
}

// fields are the top-level fields of a status as JSON has them.
type fields map[string]any

// answer is the three statuses that follow from a case.
type answer struct {
	// Status is computed, Stored kept of it, Final what the pod ends with.
	Status, Stored, Final fields
	// Aborted: the status is refused.
	Aborted bool
}

// statusRows are the differences that docs/kubelet-differences.md lists.
var statusRows = []documented[statusCase, answer]{
	{
		"`resources` of the status of a pod as a whole are what its cgroup was last given",
		func(c statusCase) bool { return c.Input.Pod.Status.Phase == v1.PodRunning },
		func(a *answer) {
			for _, f := range []fields{a.Status, a.Stored, a.Final} {
				delete(f, "resources")
			}
		},
	},
}

// statuses are the kubelet's answer and podctl's.
func statuses(t *testing.T, c statusCase) (want, got answer) {
	p, in := c.Input.Pod, c.Input
	waiting := map[string]podsync.Waiting{}
	for name, w := range in.Waiting {
		waiting[name] = podsync.Waiting{Reason: w.Reason, Message: w.Message}
	}
	status := podsync.PodStatus(p, in.Runtime.status(p), podsync.StatusInput{
		Old: in.Old, Waiting: waiting, Probes: in.Probes.results(), HostIPs: in.HostIPs, RuntimeName: "containerd",
		Ended: in.Terminal, Begun: in.KubeletStart, Now: in.Now,
	})
	want = answer{Status: c.Want.Status, Aborted: c.Want.Aborted}
	got = answer{Status: fieldsOf(t, status)}

	kept := in.Old
	stored, err := podsync.Settle(p, in.Old, status, in.Now)
	if got.Aborted = err != nil; err == nil {
		kept, got.Stored = &stored, fieldsOf(t, stored)
	}
	switch {
	case c.Want.Aborted:
	case c.Want.Unchanged:
		want.Stored = fieldsOf(t, *in.Old)
	default:
		want.Stored = merged(c.Want.Status, c.Want.Stored)
	}

	if c.Want.Final != nil {
		// The API server holds what the status manager does.
		held := *p
		if kept != nil {
			held.Status = *kept
		}
		got.Final = fieldsOf(t, podsync.Finish(&held, kept, in.Now))
		base := want.Stored
		if base == nil {
			base = fieldsOf(t, held.Status)
		}
		want.Final = merged(base, c.Want.Final)
	}
	return want, got
}

func fieldsOf(t *testing.T, s v1.PodStatus) fields {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var f fields
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// merged is base with the fields that changed; null stands for one that is
// gone.
func merged(base, changed fields) fields {
	all := fields{}
	maps.Copy(all, base)
	for name, value := range changed {
		if value == nil {
			delete(all, name)
			continue
		}
		all[name] = value
	}
	return all
}
