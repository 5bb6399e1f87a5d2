package fleet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/testkit/testutil"
)

// arrivals is what preempt prints for one node, with what the test reads of it.
type arrivals struct {
	Node     string
	Arrivals []struct {
		Pod      struct{ Name string }
		Admitted bool
		Reason   string
		Plan     struct {
			Verdicts []struct {
				Pod         struct{ Name string }
				Kill        int
				Terminating bool
			}
			Warnings []struct {
				Kind string
				Pod  struct{ Name string }
			}
		}
	}
}

// arriving is a pod for the cluster's node that lacks 50m of cpu there: the DaemonSets'
// pods request 20m, the pod web 100m. It is not scheduled: the kubelet decides.
func (c cluster) arriving(name, class string) string {
	c.t.Helper()
	allocatable, err := resource.ParseQuantity(c.kubectl("get", "node", "node-1", "-o", "jsonpath={.status.allocatable.cpu}"))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.write(name+".yaml", fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  nodeName: node-1
  priorityClassName: %q
  terminationGracePeriodSeconds: 0
  containers:
  - {name: c, image: docker.io/library/busybox:latest, imagePullPolicy: IfNotPresent, command: [sleep, "3600"], resources: {requests: {cpu: %dm}}}
`, name, class, allocatable.MilliValue()-70))
}

const critical = "system-node-critical"

// preempts asserts the answers of preempt while the pod web runs, or terminates with a
// deletionTimestamp: it holds what it requests until its containers have ended, so that
// an arriving pod does not fit, and is preempted by a critical one.
func (c cluster) preempts(terminating bool) {
	c.t.Helper()
	out, errw, code := c.plugin("preempt", "--dry-run", "-f", c.arriving("plain", ""), "-f", c.arriving("critical", critical), "-o", "json")
	var nodes []arrivals
	if err := json.Unmarshal([]byte(out), &nodes); err != nil || code != 1 || len(nodes) != 1 || nodes[0].Node != "node-1" || len(nodes[0].Arrivals) != 2 {
		c.t.Fatalf("preempt: exit code %d, %v\n%s%s", code, err, out, errw)
	}
	plain, critical := nodes[0].Arrivals[0], nodes[0].Arrivals[1]
	if plain.Admitted || plain.Reason != "OutOfcpu" {
		c.t.Errorf("a pod that is not critical: %+v", plain)
	}
	if v := critical.Plan.Verdicts; !critical.Admitted || len(v) != 3 || v[0].Pod.Name != "web" || v[0].Kill != 1 || v[0].Terminating != terminating || v[1].Kill != 0 || v[2].Kill != 0 {
		c.t.Errorf("terminating %v: %+v", terminating, critical)
	}
	warned := false
	for _, w := range critical.Plan.Warnings {
		warned = warned || w.Kind == "StillTerminating" && w.Pod.Name == "web"
	}
	if warned != terminating {
		c.t.Errorf("terminating %v: warnings %+v", terminating, critical.Plan.Warnings)
	}
	text, _, _ := c.plugin("preempt", "--dry-run", "-f", c.arriving("critical", "system-node-critical"))
	c.t.Logf("terminating %v:\n%s", terminating, text)
}

// kubeletAgrees lets the two pods arrive while web terminates: the kubelet does what
// preempt has answered.
func (c cluster) kubeletAgrees() {
	c.t.Helper()
	status := func(pod, path string) string {
		return c.kubectl("get", "pod", pod, "--ignore-not-found", "-o", "jsonpath={.status."+path+"}")
	}
	c.kubectl("create", "-f", c.arriving("plain", ""))
	testutil.Eventually(c.t, 3*time.Minute, "the kubelet rejects the pod that is not critical", func() bool { return status("plain", "reason") == "OutOfcpu" },
		func() string { return status("plain", "reason") + " " + status("plain", "phase") })
	c.kubectl("create", "-f", c.arriving("critical", critical))
	reasons := func() []string {
		return strings.Fields(c.kubectl("get", "events", "--field-selector=involvedObject.name=web", "-o", "jsonpath={.items[*].reason}"))
	}
	testutil.Eventually(c.t, 3*time.Minute, "the kubelet preempts web", func() bool { return slices.Contains(reasons(), "Preempting") },
		func() string { return fmt.Sprint(reasons()) })
	if phase := status("web", "phase"); phase != "Running" {
		c.t.Errorf("web was preempted after it had ended: it is %q", phase)
	}
	testutil.Eventually(c.t, 3*time.Minute, "the critical pod runs", func() bool { return status("critical", "phase") == "Running" },
		func() string { return status("critical", "phase") + " " + status("critical", "reason") })
}
