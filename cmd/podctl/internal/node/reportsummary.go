package node

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/look"
	"github.com/podctl/podctl/cmd/podctl/internal/pods"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/doctor"
	"github.com/podctl/podctl/internal/pods/report"
	"github.com/podctl/podctl/internal/pods/why"
)

// summarize returns what a person reads first, from the lists of a report.
func summarize(results []report.Result) report.Summary {
	s := report.Summary{Healthy: -1}
	for _, f := range objects[findingData](results, "doctor") {
		if f.Level == doctor.Warning.String() || f.Level == doctor.Failure.String() {
			s.Findings = append(s.Findings, report.Finding{Level: f.Level, Name: f.Name, Evidence: f.Evidence, Remedy: f.Remedy})
		}
	}
	slices.SortStableFunc(s.Findings, func(a, b report.Finding) int { return strings.Compare(a.Level, b.Level) }) // failure before warning
	if all := objects[look.PodData](results, "pods"); all != nil {
		s.Healthy = 0
		for _, p := range all {
			if p.Status == "Completed" || p.Status == "Running" && p.Ready == p.Containers {
				s.Healthy++
				continue
			}
			s.Pods = append(s.Pods, report.PodLine{Pod: pod.DisplayName(p.Metadata.Namespace, p.Metadata.Name), State: p.Status, Why: p.NotReady()})
		}
	}
	for _, state := range []string{"starting", "terminating"} {
		for _, p := range objects[pods.StuckPod](results, state) {
			state := state
			if state == "starting" {
				state += ", " + cmp.Or(string(p.Step), "-")
			}
			if p.Layer != why.LayerNone {
				state += ", " + string(p.Layer)
			}
			s.Stuck = append(s.Stuck, report.PodLine{
				Pod: pod.DisplayName(p.Metadata.Namespace, p.Metadata.Name), State: state, Why: p.Why, Next: strings.Join(p.Next, " · "),
			})
		}
	}
	return s
}

// objects returns the objects of a part that is a list, nil if they are not there.
func objects[T any](results []report.Result, part string) []T {
	for _, r := range results {
		for _, f := range r.Files {
			if r.Name != part || f.Name != part+".json" {
				continue
			}
			all := []T{}
			if json.Unmarshal(f.Data, &all) == nil {
				return all
			}
		}
	}
	return nil
}

// identities returns the names and labels of the pods: a secret value that is one of them, such
// as "default", is not masked everywhere.
func identities(results []report.Result) []byte {
	text := bytes.NewBufferString("default kube-system kubelet containerd crio podctl running failure warning\n")
	for _, p := range objects[look.PodData](results, "pods") {
		m := p.Metadata
		text.WriteString(strings.Join([]string{m.Namespace, m.Name, m.UID, ""}, "\n"))
		for key, value := range m.Labels {
			text.WriteString(key + "=" + value + "\n")
		}
	}
	return text.Bytes()
}
