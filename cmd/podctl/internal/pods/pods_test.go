package pods

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/testkit/testutil"
)

// lunch is the present of the tests, listed a pod as a runtime lists it.
var (
	lunch  = testutil.Noon
	listed = testutil.ListedPod
)

func podExamples() []*view.Pod {
	bare := listed("bare", "", pod.Running, pod.Running)
	bare.Sandboxes[0].Labels = nil
	return view.Merge([]*pod.Pod{
		listed("web", "agent", pod.Running, pod.Running),
		listed("taken", "run-dead", pod.Running, pod.Running), // and taken over
		listed("old", "run-dead", pod.Running, pod.Running, pod.Exited),
		listed("beside", "run-alive", pod.Running),
		listed("static", "", pod.Exited, pod.Exited),
		listed("half", "", pod.Exited, pod.Running, pod.Running),
		bare,
	}, &owners.Answers{Processes: []owners.Process{
		{Settled: true, Workers: map[types.UID]control.Worker{
			"uid-web":   {Namespace: "default", Name: "web", UID: "uid-web", Phase: "terminating", PodPhase: "Running", Ready: 1, Containers: 1, IPs: []string{"10.0.0.7"}},
			"uid-taken": {Namespace: "default", Name: "taken", UID: "uid-taken", Phase: "syncing", PodPhase: "Running", Ready: 1, Containers: 2, Restarts: 3},
			"uid-done":  {Namespace: "default", Name: "done", UID: "uid-done", Phase: "terminated", PodPhase: "Succeeded", Containers: 1},
			"uid-no":    {Namespace: "default", Name: "no", UID: "uid-no", Phase: "unknown", PodPhase: "Failed", Rejected: "its name is taken"},
		}},
		{Process: control.Process{Name: "run-alive"}},
	}})
}

func TestPodsListingJoinsRuntimeAndPodctlProcesses(t *testing.T) {
	var out bytes.Buffer
	l := podListing(podExamples(), nil, lunch, false)
	if err := mustFormat(t, "wide").Print(&out, l); err != nil {
		t.Fatal(err)
	}
	const want = `
POD             STATUS             WORKER       OWNER              READY  RESTARTS  IP        AGE  UID         SANDBOX
default/bare    Running            -            other              1/1    0         -         90s  uid-bare    sandbox-of-ba
default/beside  ContainerCreating  -            run-alive          0/0    0         -         90s  uid-beside  sandbox-of-be
default/done    Succeeded          terminated                      0/1    0         -         -    uid-done    -
default/half    Terminating        -            kubelet            2/2    1         -         90s  uid-half    sandbox-of-ha
default/no      Rejected           -                               0/0    0         -         -    uid-no      -
  not ready: its name is taken
default/old     ExitCode:unknown   -            run-dead (exited)  1/2    1         -         90s  uid-old     sandbox-of-ol
default/static  ExitCode:unknown   -            kubelet            0/1    0         -         90s  uid-static  sandbox-of-st
default/taken   Running            syncing                         1/2    3         -         90s  uid-taken   sandbox-of-ta
default/web     Terminating        terminating                     1/1    0         10.0.0.7  90s  uid-web     sandbox-of-we
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestListsAreEmptyInEveryFormat(t *testing.T) {
	for format, want := range map[string]string{
		"": "", "table": "", "wide": "", "name": "", "json": "[]\n", "yaml": "[]\n",
		"jsonpath={[*].metadata.name}": "", "go-template={{len .}}": "0", "custom-columns=A:.b": "A\n",
	} {
		p, err := shell.ReadFormat(format)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := p.Print(&out, output.List{Header: []string{"POD"}}); err != nil || out.String() != want {
			t.Errorf("-o %q: %q %v, want %q", format, out.String(), err, want)
		}
	}
}

func TestUnknownOutputFormatsAreRejected(t *testing.T) {
	for _, format := range []string{"xml", "json=x", "jsonpath", "jsonpath={", "jsonpath={.items[*].metadata.name}", "jsonpath={range .items[*]}{.phase}{end}", "go-template={{", "custom-columns", "custom-columns=A"} {
		if _, err := shell.ReadFormat(format); err == nil {
			t.Errorf("-o %s is accepted", format)
		}
	}
}

func mustFormat(t *testing.T, value string) output.Format {
	t.Helper()
	f, err := shell.ReadFormat(value)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
