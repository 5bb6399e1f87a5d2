package node

import (
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/desired/manifest"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: "busybox:1", command: [sleep, "3600"]}]
`

// replicas are the pods of the deployment.
func replicas(t *testing.T, text string, n int) []Desired {
	t.Helper()
	set, err := manifest.Load(t.Context(), []string{"-"}, manifest.LoadOptions{Stdin: strings.NewReader(text), Replicas: n})
	if err != nil {
		t.Fatal(err)
	}
	var pods []Desired
	for _, p := range set.Pods {
		pods = append(pods, Desired{Pod: p.Pod, Document: p.Document, Workload: p.Workload})
	}
	return pods
}

// The pods of a workload beyond its number are stopped although another podctl
// process started them, if that does not live; those of another workload stay.
func TestSurplusPodsOfWorkloadAreStopped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("run-a")
		three := replicas(t, deployment, 3)
		other := replicas(t, strings.Replace(deployment, "name: web}", "name: api}", 1), 1)
		a.Set(testSource, append(three, other...), nil)
		for _, d := range append(three, other...) {
			a.until(d.Pod.Name, "running", running)
		}
		b := w.podctl("run-b")
		one := replicas(t, strings.Replace(deployment, "3600", "7200", 1), 1) // and changed
		b.Set(testSource, one, nil)
		time.Sleep(10 * time.Second)
		if got := w.calls("StopPodSandbox"); len(got) != 0 {
			t.Errorf("pods of a living podctl process: %v", got)
		}
		a.kill()
		b.until(one[0].Pod.Name, "replaced", running)
		time.Sleep(10 * time.Second)
		held, err := b.client.ListPods(t.Context())
		if err != nil || len(held) != 2 {
			t.Errorf("the runtime holds %v, %v; want one pod of each workload", held, err)
		}
		b.Set(testSource, append(one, other...), nil)
		b.until(other[0].Pod.Name, "adopted", func(i Info) bool { return running(i) && i.Adopted })
		b.drain()
		w.empty()
	})
}
