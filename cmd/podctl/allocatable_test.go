package main

import (
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

const boundedPod = `
apiVersion: v1
kind: Pod
metadata: {name: bounded}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: busybox
    command: ["true"]
    env:
    - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
`

// TestCapacityAndReservedReachTheDownwardAPI: a limit that a container does not
// set is what the node has for pods.
func TestCapacityAndReservedReachTheDownwardAPI(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Close()
		w.sim = sim.New(sim.Options{Record: true})
		c := w.start(strings.NewReader(boundedPod), "run", "--capacity", "memory=1Gi,cpu=7", "--reserved", "memory=256Mi,cpu=2", "-")
		select {
		case <-c.code:
		case <-time.After(time.Minute):
			t.Fatal("not ended")
		}
		got := map[string]string{}
		for _, call := range w.sim.Calls("CreateContainer") {
			for _, env := range call.Request.(*runtimeapi.CreateContainerRequest).Config.Envs {
				got[env.Key] = string(env.Value)
			}
		}
		if got["MEMORY"] != "805306368" || got["CPU"] != "5" {
			t.Errorf("variables MEMORY=%s CPU=%s; want 768 MiB and 5\n%s", got["MEMORY"], got["CPU"], c.errw.String())
		}
	})
}
