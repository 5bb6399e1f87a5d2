package describe

import (
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

func TestPSIOnPage(t *testing.T) {
	cgroups := func(psi pod.PSI) *view.Pod {
		return &view.Pod{Cgroup: &view.Cgroup{Path: "/pod", PSI: psi}, Containers: []view.Container{{Name: "a", Cgroup: &view.Cgroup{Path: "/pod/a", PSI: psi}}}}
	}
	const known = "PSI avg10: cpu some 7.3% full 0.0%, io some 31.2% full 29.9%"
	if got := Page(cgroups(pod.PSI{CPU: &pod.Stall{Some: 7.349}, IO: &pod.Stall{Some: 31.2, Full: 29.9}}), time.Time{}); strings.Count(got, known) != 2 {
		t.Errorf("want %q of the pod and of its container:\n%s", known, got)
	}
	if got := Page(cgroups(pod.PSI{Unknown: "cgroup v1 has no PSI"}), time.Time{}); strings.Count(got, "PSI -: cgroup v1 has no PSI\n") != 1 {
		t.Errorf("want the reason once:\n%s", got)
	}
}
