package oracle

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// sequence reads calls such as "run; create a; hook a; probe a; stop a; end".
func sequence(text string) []podCall {
	methods := map[string]string{
		"run": "RunPodSandbox", "create": "CreateContainer", "stop": "StopContainer",
		"hook": "ExecSync", "probe": "ExecSync", "end": "StopPodSandbox",
	}
	var calls []podCall
	for step := range strings.SplitSeq(text, "; ") {
		verb, container, _ := strings.Cut(step, " ")
		c := podCall{Method: methods[verb], Container: container}
		if verb == "probe" {
			c.Args = map[string]any{"timeout": "1"}
		}
		calls = append(calls, c)
	}
	return calls
}

// TestPodsComparedOrder: what may differ (doc.go) is equal, and
// nothing else. "side" is a sidecar.
func TestPodsComparedOrder(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	o := orderOf(&v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{
		{Name: "init"}, {Name: "side", RestartPolicy: &always}, {Name: "side2", RestartPolicy: &always},
	}}})
	for _, c := range []struct {
		rule, a, b string
		equal      bool
	}{
		{"a sandbox stopped again", "run; end; end", "run; end", true},
		{"a sandbox never stopped", "run; end", "run", false},
		{"the next sandbox never stopped", "run; end; run; end", "run; end; run", false},
		{"containers stopped in parallel", "stop a; stop b; stop c", "stop c; stop a; stop b", true},
		{"a container stopped twice", "stop a; stop a", "stop a", false},
		{"containers created in another order", "create a; create b", "create b; create a", false},
		{"a stop before another's creation", "create a; stop b", "stop b; create a", false},
		{"a stop after the sandbox's", "stop a; end", "end; stop a", false},
		{"hooks in parallel", "hook a; stop a; hook b; stop b", "hook b; hook a; stop b; stop a", true},
		{"a stop before its own hook", "hook a; stop a", "stop a; hook a", false},
		{"a sidecar stopped before the others", "stop a; stop b; stop side", "stop a; stop side; stop b", false},
		{"sidecars stopped in their order", "stop a; stop side2; stop side", "stop a; stop side; stop side2", false},
		{"others in parallel before a sidecar", "stop a; stop b; stop side", "stop b; stop a; stop side", true},
		{"a sidecar's hook early", "stop a; hook side; stop side", "hook side; stop a; stop side", true},
		{"a probe repeated", "create a; probe a; stop a", "create a; probe a; probe a; stop a; probe a", true},
		{"a probe never made", "create a; probe a; probe b", "create a; probe a", false},
	} {
		a, b := o.even(sequence(c.a)), o.even(sequence(c.b))
		equal := slices.Equal(outlines(a.calls), outlines(b.calls)) && slices.Equal(a.probes, b.probes)
		if equal != c.equal {
			t.Errorf("%s: equal %v, want %v\n%q\n%q", c.rule, equal, c.equal, outlines(a.calls), outlines(b.calls))
		}
	}
}

// TestPodsComparedFields: the same of the fields of a config.
func TestPodsComparedFields(t *testing.T) {
	type args = map[string]any
	for _, c := range []struct {
		rule  string
		a, b  args
		equal bool
	}{
		{"the kubelet's own annotation", args{"annotations": args{"kubernetes.io/config.seen": "<any>"}}, args{}, true},
		{"podctl's own annotation", args{"annotations": args{"x": "y"}}, args{"annotations": args{"x": "y", "podctl.io/owner": "o"}}, true},
		{"any other annotation", args{"annotations": args{"x": "y"}}, args{"annotations": args{"x": "z"}}, false},
		{"a label of that name", args{"labels": args{"podctl.io/owner": "o"}}, args{"labels": args{}}, false},
		{"the root of the cgroups", args{"cgroupParent": "/kubepods/burstable/podu"}, args{"cgroupParent": "/other/burstable/podu"}, true},
		{"the cgroup below it", args{"cgroupParent": "/kubepods/burstable/podu"}, args{"cgroupParent": "/kubepods/podu"}, false},
		{"any value", args{"hash": "<any>"}, args{"hash": "1"}, true},
		{"no value", args{"hash": "<any>"}, args{}, false},
		{"a field too many", args{"tty": true}, args{"tty": true, "stdin": true}, false},
	} {
		if equal := diffArgs(c.a, c.b) == ""; equal != c.equal {
			t.Errorf("%s: equal %v, want %v", c.rule, equal, c.equal)
		}
	}
}

func TestPodsHugePagesOfMachine(t *testing.T) {
	limits := func(l ...any) map[string]any {
		return map[string]any{"linux": map[string]any{"resources": map[string]any{"hugepageLimits": l}}}
	}
	size := func(s string) map[string]any { return map[string]any{"pageSize": s} }
	asked := map[string]any{"pageSize": "2MB", "limit": "4194304"}
	got := resizeHugePages(limits(asked, size("1GB")), []string{"64KB", "2MB"})
	if diff := diffArgs(limits(size("64KB"), asked), got); diff != "" {
		t.Error(diff)
	}
}
