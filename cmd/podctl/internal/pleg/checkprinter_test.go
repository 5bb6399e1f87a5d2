package pleg

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pleg/plegstat"
)

func TestCheckVerdictIsTheFirstFindingThatApplies(t *testing.T) {
	waits := []plegstat.CheckWait{{Call: "ContainerStatus", Namespace: "default", Name: "db", UID: "u", Container: "db", ID: "0123456789abcdef", Seconds: 12}}
	healthy := plegstat.CheckReport{ThresholdSeconds: 180, RelistMax: new(0.01), Slowest: []plegstat.CheckSlow{{Namespace: "default", Name: "db", Seconds: 0.3}}}
	for _, c := range []struct {
		name    string
		change  func(*plegstat.CheckReport)
		failure error
		want    string
	}{
		{name: "healthy", change: func(*plegstat.CheckReport) {}},
		{name: "a wait that has no bearing", change: func(r *plegstat.CheckReport) { r.Waits = waits }},
		{name: "list failed", change: func(r *plegstat.CheckReport) { r.Unfinished, r.Waits = "some", waits }, failure: errors.New("list sandboxes: no"), want: "list sandboxes: no"},
		{name: "no answer", change: func(r *plegstat.CheckReport) { r.Unfinished, r.Waits = "some", waits }, want: "no answer for 12s: ContainerStatus of default/db/db (container 0123456789abc)"},
		{name: "too slow", change: func(r *plegstat.CheckReport) { r.Unfinished, r.Seconds = "3 of 10 relists", 11 }, want: "not finished after 11s: 3 of 10 relists"},
		{name: "status failed", change: func(r *plegstat.CheckReport) {
			r.Errors = []plegstat.CheckError{{Namespace: "default", Name: "db", Message: "read status: bad"}}
		}, want: "status of default/db: read status: bad"},
		{name: "slow relist", change: func(r *plegstat.CheckReport) { r.RelistMax = new(200.0) }, want: "a relist took 3m20s (threshold 3m0s)"},
		{name: "slow status", change: func(r *plegstat.CheckReport) { r.Slowest[0].Seconds = 181 }, want: "the status of default/db took 3m1s (threshold 3m0s)"},
	} {
		r := healthy
		r.Slowest = []plegstat.CheckSlow{healthy.Slowest[0]}
		c.change(&r)
		if reason := reasonText(r, c.failure); reason != c.want {
			t.Errorf("%s: %q, want %q", c.name, reason, c.want)
		}
	}
}

func TestCheckTextNamesTheWaitOnceAndGivesTheHint(t *testing.T) {
	r := plegstat.CheckReport{
		Status: plegstat.Unhealthy, Reason: "no answer for 4m12s: PodSandboxStatus of default/db (sandbox 0123456789abc)",
		Runtime: "containerd\n2.4.2", Endpoint: "unix:///run/c.sock", PID: 1234, Hint: "kill -USR1 1234 makes containerd log its goroutines", Unfinished: "10 of 10 relists, statuses of 0 of 1 pod",
		Samples: 300, RelistMax: new(0.02), Pods: 1, Containers: 2, Hints: string(plegstat.HintsNone), NoHints: "switched\noff",
		Waits: []plegstat.CheckWait{{
			Call: "PodSandboxStatus", Namespace: "default", Name: "db", UID: "u", ID: "0123456789abcdef",
			Since: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Seconds: 252,
		}},
	}
	want := `unhealthy: no answer for 4m12s
  waits for PodSandboxStatus of default/db (sandbox 0123456789abc), in flight for 4m12s (since 15:04:05.000)
  answered: 10 of 10 relists, statuses of 0 of 1 pod
  relist max 20ms over 300 samples
  1 pod, 2 containers · containerd; 2.4.2 at unix:///run/c.sock
  hints: no: switched; off
  hint: kill -USR1 1234 makes containerd log its goroutines
`
	if got := checkText(r, false); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := checkText(r, true); !strings.Contains(got, "(sandbox 0123456789abcdef)") {
		t.Errorf("%s", got)
	}
	if got, want := checkBrief(r), "unhealthy: "+r.Reason; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWaitText(t *testing.T) {
	for want, w := range map[string]plegstat.CheckWait{
		"ListContainers":         {Call: "ListContainers"},
		"PodStatus of default/w": {Call: "PodStatus", UID: "u", Namespace: "default", Name: "w"},
		"ListPod of u":           {Call: "ListPod", UID: "u"},
		"ContainerStatus of default/w/c (container 0123456789abc)": {Call: "ContainerStatus", UID: "u", Namespace: "default", Name: "w", Container: "c", ID: "0123456789abcdef"},
		"PodSandboxStatus of default/w (sandbox s)":                {Call: "PodSandboxStatus", UID: "u", Namespace: "default", Name: "w", ID: "s"},
	} {
		if got := waitText(w, false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
