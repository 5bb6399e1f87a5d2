package conform_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/lab/conform"
)

var place = conform.ManifestOptions{Image: "docker.io/library/busybox:1", Probe: "/var/lib/podctl/conform/podctl", Mark: "m1", Libraries: map[string]string{"/lib/libc.so.6": "/var/lib/podctl/conform/libc.so.6"}}

// TestEveryManifestIsValid: all of them together, as they are run.
func TestEveryManifestIsValid(t *testing.T) {
	names := map[string]bool{}
	var documents [][]byte
	for _, b := range conform.All() {
		if names[b.Name] || b.About == "" || b.Judge == nil {
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
		if p.Labels[conform.Label] != "m1" || c.Image != place.Image || c.ImagePullPolicy != v1.PullNever || c.Command[1] != conform.Command {
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
		if mounted["/podctl-conform"] != place.Probe || mounted["/lib/libc.so.6"] != place.Libraries["/lib/libc.so.6"] {
			t.Errorf("%s: podctl is not mounted with its libraries: %v", p.Name, mounted)
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

func TestVerdicts(t *testing.T) {
	facts := func(seccomp string) []conform.Line {
		return []conform.Line{{Text: conform.FactsPrefix + `{"status":{"Seccomp":"` + seccomp + `"}}`}}
	}
	for _, c := range []struct {
		name    string
		seen    conform.Observation
		verdict conform.Verdict
		detail  string
	}{
		{"as it has to be", conform.Observation{Lines: map[string][]conform.Line{"a": facts("2"), "b": facts("0")}}, conform.OK, ""},
		{"not so", conform.Observation{Lines: map[string][]conform.Line{"a": facts("0"), "b": facts("0")}}, conform.Deviates, "seccomp of a is 0, want 2"},
		{"nothing was said", conform.Observation{Lines: map[string][]conform.Line{"b": facts("0")}, Ended: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{
			{Name: "a", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CreateContainerError", Message: "no such profile"}}},
		}}}, conform.Deviates, "a wrote no facts: CreateContainerError: no such profile"},
		{"refused", conform.Observation{Refused: "the runtime cannot"}, conform.Unsupported, "the runtime cannot"},
		{"late", conform.Observation{Late: true, Problem: "no sandbox", Status: v1.PodStatus{Phase: v1.PodPending}}, conform.Deviates, "in time: Pending; no sandbox"},
	} {
		r := behaviour(t, "seccomp").Judged(&c.seen, "containerd", "v2.4.2")
		if r.Verdict != c.verdict || !strings.Contains(r.Detail, c.detail) {
			t.Errorf("%s: %s %q", c.name, r.Verdict, r.Detail)
		}
		if r.Unexpected() != (c.verdict == conform.Deviates) {
			t.Errorf("%s: unexpected %t", c.name, r.Unexpected())
		}
	}
}

// TestKnownDeviation: a pod that does not come so far is not what the runtime is known for.
func TestKnownDeviation(t *testing.T) {
	oom := behaviour(t, "oom-kill-of-a-child")
	for _, late := range []bool{false, true} {
		r := oom.Judged(&conform.Observation{Late: late}, "containerd", "v2.4.2")
		if r.Verdict != conform.Deviates || r.Unexpected() != late {
			t.Errorf("late %t: %s, known %v", late, r.Verdict, r.Known)
		}
	}
}

// TestGuaranteedWhereNoScoreCanBeLowered: it is the host's then, or that of containerd's shim.
func TestGuaranteedWhereNoScoreCanBeLowered(t *testing.T) {
	for score, want := range map[string]conform.Verdict{"-997": conform.OK, "0": conform.Unsupported, "1": conform.Unsupported, "2": conform.Deviates, "-1": conform.Deviates} {
		facts := []conform.Line{{Text: conform.FactsPrefix + `{"oomScoreAdj":` + score + `}`}}
		r := behaviour(t, "guaranteed").Judged(&conform.Observation{Lines: map[string][]conform.Line{"c": facts}}, "containerd", "v2.4.2")
		if r.Verdict != want {
			t.Errorf("%s: %s %q", score, r.Verdict, r.Detail)
		}
	}
}

func TestParseLogJoinsPartsByStream(t *testing.T) {
	const log = "2026-01-02T15:04:05.1Z stdout P one \n2026-01-02T15:04:05.2Z stderr F other\n2026-01-02T15:04:05.3Z stdout F line\nbroken\n2026-01-02T15:04:05.4Z stdout F \n"
	var got []string
	for _, l := range conform.ParseLog(log, 1) {
		got = append(got, l.Stream+":"+l.Text)
	}
	if want := []string{"stdout:one line", "stderr:other", ":broken", "stdout:"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
