package conform_test

import (
	"bytes"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/lab/conform"
	"github.com/podctl/podctl/internal/lab/conform/inside"
)

var place = conform.ManifestOptions{Image: "docker.io/library/busybox:1", Mark: "m1", Podctl: "/var/lib/podctl/conform/program/podctl-conform"}

// TestEveryManifestIsValid: all of them together, as they are run.
func TestEveryManifestIsValid(t *testing.T) {
	names := map[string]bool{}
	var documents [][]byte
	for _, b := range conform.All() {
		if names[b.Name] || b.About == "" || len(b.Expect) == 0 {
			t.Errorf("%s: its name is taken, or it is not complete", b.Name)
		}
		names[b.Name] = true
		document, err := place.Manifest(b)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, document)
	}
	set, err := manifest.Load(t.Context(), []string{"-"}, manifest.LoadOptions{Stdin: bytes.NewReader(bytes.Join(documents, []byte("\n---\n"))), ObjectsComplete: true})
	if err != nil || len(set.Warnings) > 0 {
		t.Fatal(err, set.Warnings)
	}
	if len(set.Pods) != len(names) {
		t.Errorf("%d pods of %d behaviours", len(set.Pods), len(names))
	}
	for _, p := range set.Pods {
		c := p.Spec.Containers[0]
		if p.Labels[conform.Label] != "m1" || c.Image != place.Image || c.ImagePullPolicy != v1.PullNever || c.Command[1] != inside.Command {
			t.Errorf("%s: %v, %+v", p.Name, p.Labels, c)
		}
		mounted := map[string]string{}
		for _, v := range p.Spec.Volumes {
			for _, m := range c.VolumeMounts {
				if m.Name == v.Name && v.HostPath != nil && m.ReadOnly {
					mounted[m.MountPath] = v.HostPath.Path
				}
			}
		}
		if mounted["/podctl-conform"] != place.Podctl {
			t.Errorf("%s: %s is not mounted: %v", p.Name, place.Podctl, mounted)
		}
	}
}

func behaviour(t *testing.T, name string) conform.Behaviour {
	t.Helper()
	for _, b := range conform.All() {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no behaviour %s", name)
	return conform.Behaviour{}
}

// wrote is the log of a container.
func wrote(lines ...string) []string {
	var log strings.Builder
	for _, l := range lines {
		log.WriteString("2026-01-02T15:04:05.1Z stdout F " + l + "\n")
	}
	return []string{log.String()}
}

func TestVerdicts(t *testing.T) {
	facts := func(seccomp string) []string {
		return wrote(inside.FactsPrefix + `{"status":{"Seccomp":"` + seccomp + `"}}`)
	}
	for _, c := range []struct {
		name    string
		seen    conform.Observation
		verdict conform.Verdict
		detail  string
	}{
		{"as it has to be", conform.Observation{Logs: map[string][]string{"a": facts("2"), "b": facts("0")}}, conform.OK, ""},
		{"not so", conform.Observation{Logs: map[string][]string{"a": facts("0"), "b": facts("0")}}, conform.Deviates, `a.status.Seccomp is "0", want "2"`},
		{"nothing was said", conform.Observation{Logs: map[string][]string{"b": facts("0")}, Ended: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{
			{Name: "a", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CreateContainerError", Message: "no such profile"}}},
		}}}, conform.Deviates, `a.status.Seccomp is null, want "2" (, a waits: CreateContainerError no such profile)`},
		{"refused", conform.Observation{Refused: "the runtime cannot"}, conform.Unsupported, "the runtime cannot"},
		{"late", conform.Observation{Late: true, Problem: "no sandbox", Status: v1.PodStatus{Phase: v1.PodPending}}, conform.Deviates, "in time: Pending; no sandbox"},
	} {
		r := behaviour(t, "seccomp").Judge(&c.seen, "containerd", "v2.4.2")
		if r.Verdict != c.verdict || !strings.Contains(r.Detail, c.detail) {
			t.Errorf("%s: %s %q", c.name, r.Verdict, r.Detail)
		}
		if r.Unexpected() != (c.verdict == conform.Deviates) {
			t.Errorf("%s: unexpected %t", c.name, r.Unexpected())
		}
	}
}

// TestNothingSeenIsNotOK: no behaviour holds of a pod that wrote nothing, nor of one without a status.
func TestNothingSeenIsNotOK(t *testing.T) {
	for _, b := range conform.All() {
		if r := b.Judge(&conform.Observation{}, "containerd", "v9"); r.Verdict == conform.OK {
			t.Errorf("%s is ok", b.Name)
		}
		for path := range b.Expect { // each of its rows says something, but of an absence
			only := b
			only.Expect, only.Unsupported.When = map[string]any{path: b.Expect[path]}, nil
			if r := only.Judge(&conform.Observation{}, "containerd", "v9"); r.Verdict == conform.OK && path != "answer.err" && b.Expect[path] != nil {
				t.Errorf("%s: %s is true of nothing", b.Name, path)
			}
		}
	}
}

// TestKnownDeviation: a pod that does not come so far is not what the runtime is known for.
func TestKnownDeviation(t *testing.T) {
	oom := behaviour(t, "oom-kill-of-a-child")
	for _, late := range []bool{false, true} {
		r := oom.Judge(&conform.Observation{Late: late}, "containerd", "v2.4.2")
		if r.Verdict != conform.Deviates || r.Unexpected() != late {
			t.Errorf("late %t: %s, known %v", late, r.Verdict, r.Known)
		}
	}
}

// TestGuaranteedWhereNoScoreCanBeLowered: it is the host's then, or that of containerd's shim.
func TestGuaranteedWhereNoScoreCanBeLowered(t *testing.T) {
	for score, want := range map[string]conform.Verdict{"-997": conform.OK, "0": conform.Unsupported, "1": conform.Unsupported, "2": conform.Deviates, "-1": conform.Deviates} {
		r := behaviour(t, "guaranteed").Judge(&conform.Observation{
			Logs: map[string][]string{"c": wrote(inside.FactsPrefix + `{"oomScoreAdj":` + score + `}`)},
			Host: map[string]any{"oomScoreAdj": 0, "shimScoreAdj": 1},
		}, "containerd", "v2.4.2")
		if r.Verdict != want {
			t.Errorf("%s: %s %q", score, r.Verdict, r.Detail)
		}
	}
}

// TestLogsJoinPartsByStream: long lines have parts, which those of the other stream interrupt.
func TestLogsJoinPartsByStream(t *testing.T) {
	long := strings.Repeat("x", 20000)
	log := "2026-01-02T15:04:05.1Z stdout F to stdout\n2026-01-02T15:04:05.2Z stdout P " + long + "\n" +
		"2026-01-02T15:04:05.3Z stderr F to stderr\n2026-01-02T15:04:05.4Z stdout F " + long + "\n"
	logs := behaviour(t, "logs")
	if r := logs.Judge(&conform.Observation{Logs: map[string][]string{"c": {log}}}, "containerd", "v2.4.2"); r.Verdict != conform.OK {
		t.Error(r)
	}
	for _, wrong := range []string{"broken\n", "yesterday stdout F x\n", "2026-01-02T15:04:05.1Z stdin F x\n"} {
		if r := logs.Judge(&conform.Observation{Logs: map[string][]string{"c": {log + wrong}}}, "containerd", "v2.4.2"); r.Detail != "c.malformed is 1, want 0" {
			t.Errorf("%q: %v", wrong, r)
		}
	}
}

// TestRestartedContainer: what its attempts wrote is told apart.
func TestRestartedContainer(t *testing.T) {
	facts := func(net string) string { return wrote(inside.FactsPrefix + `{"namespaces":{"net":"` + net + `"}}`)[0] }
	status := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
		Name: "c", RestartCount: 1, LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 5}},
	}}}
	for second, want := range map[string]string{"n1": "", "n2": `c.runs[1].namespaces.net is "n2", want "n1"`} {
		seen := &conform.Observation{Status: status, Ended: status, Logs: map[string][]string{"c": {facts("n1"), facts(second)}}}
		if r := behaviour(t, "restart").Judge(seen, "containerd", "v2.4.2"); r.Detail != want {
			t.Errorf("%s: %q", second, r.Detail)
		}
	}
}
