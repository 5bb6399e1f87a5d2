package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestVerdict: each thing that makes a runtime unhealthy, and which of two
// comes first.
func TestVerdict(t *testing.T) {
	waits := []checkWait{{Call: "ContainerStatus", Namespace: "default", Name: "db", UID: "u", Container: "db", ID: "0123456789abcdef", Seconds: 12}}
	healthy := checkReport{ThresholdSeconds: 180, RelistMax: 0.01, Slowest: []checkSlow{{Namespace: "default", Name: "db", Seconds: 0.3}}}
	for _, c := range []struct {
		name    string
		change  func(*checkReport)
		failure error
		want    string
	}{
		{name: "healthy", change: func(*checkReport) {}},
		{name: "a wait that has no bearing", change: func(r *checkReport) { r.Waits = waits }},
		{name: "list failed", change: func(r *checkReport) { r.Unfinished, r.Waits = "some", waits }, failure: errors.New("list sandboxes: no"), want: "list sandboxes: no"},
		{name: "no answer", change: func(r *checkReport) { r.Unfinished, r.Waits = "some", waits }, want: "no answer for 12s: ContainerStatus of default/db/db (container 0123456789abc)"},
		{name: "too slow", change: func(r *checkReport) { r.Unfinished, r.Seconds = "3 of 10 relists", 11 }, want: "not done after 11s: 3 of 10 relists"},
		{name: "status failed", change: func(r *checkReport) {
			r.Errors = []checkError{{Namespace: "default", Name: "db", Message: "read status: bad"}}
		}, want: "status of default/db: read status: bad"},
		{name: "slow relist", change: func(r *checkReport) { r.RelistMax = 200 }, want: "a relist took 3m20s (threshold 3m0s)"},
		{name: "slow status", change: func(r *checkReport) { r.Slowest[0].Seconds = 181 }, want: "the status of default/db took 3m1s (threshold 3m0s)"},
	} {
		r := healthy
		r.Slowest = []checkSlow{healthy.Slowest[0]}
		c.change(&r)
		status, reason := r.verdict(c.failure)
		want := statusUnhealthy
		if c.want == "" {
			want = statusHealthy
		}
		if status != want || reason != c.want {
			t.Errorf("%s: %s %q, want %q", c.name, status, reason, c.want)
		}
	}
}

func TestCheckTextNamesTheWaitOnceAndGivesTheHint(t *testing.T) {
	r := checkReport{
		Status: statusUnhealthy, Reason: "no answer for 4m12s: PodSandboxStatus of default/db (sandbox 0123456789abc)",
		Runtime: "containerd 2.4.2", Endpoint: "unix:///run/c.sock", PID: 1234, Unfinished: "10 of 10 relists, statuses of 0 of 1 pod",
		Samples: 300, RelistP50: 0.004, RelistP95: 0.009, RelistMax: 0.02, Pods: 1, Containers: 2, Hints: hintsNone, NoHints: "switched\noff",
		Waits: []checkWait{{
			Call: "PodSandboxStatus", Namespace: "default", Name: "db", UID: "u", ID: "0123456789abcdef",
			Since: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Seconds: 252,
		}},
	}
	want := `unhealthy: no answer for 4m12s
  it waits for PodSandboxStatus of default/db (sandbox 0123456789abc), since 4m12s (15:04:05.000)
  answered: 10 of 10 relists, statuses of 0 of 1 pod
  relist p50 4ms, p95 9ms, max 20ms over 300 samples
  1 pod, 2 containers · containerd 2.4.2 at unix:///run/c.sock
  hints: no: switched; off
  hint: the runtime's goroutines, in its log: kill -USR1 1234
`
	if got := r.text(false); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := r.text(true); !strings.Contains(got, "(sandbox 0123456789abcdef)") {
		t.Errorf("%s", got)
	}
	if got, want := r.brief(), "unhealthy: "+r.Reason; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWaitText(t *testing.T) {
	for want, w := range map[string]wait{
		"ListContainers":         {method: "ListContainers"},
		"PodStatus of default/w": {method: "PodStatus", uid: "u", namespace: "default", name: "w"},
		"ListPod of u":           {method: "ListPod", uid: "u"},
		"ContainerStatus of default/w/c (container 0123456789abc)": {method: "ContainerStatus", uid: "u", namespace: "default", name: "w", container: "c", id: "0123456789abcdef"},
		"PodSandboxStatus of default/w (sandbox s)":                {method: "PodSandboxStatus", uid: "u", namespace: "default", name: "w", id: "s"},
	} {
		if got := w.text(false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
