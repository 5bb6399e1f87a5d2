package live

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/testkit/testutil"
)

// scriptedPod fails twice, becomes ready by a hook and probes, and ends by its trap.
const scriptedPod = `
apiVersion: v1
kind: Pod
metadata:
  name: scripted
  annotations:
    sim.podctl.io/script.web: httpd -p 8080
    sim.podctl.io/script.job: |
      echo "attempt $ATTEMPT"; echo "no luck" > /dev/termination-log
      [ $ATTEMPT -ge 2 ] || exit 3
      trap 'echo stopping; sleep 1; exit 0' TERM
      while true; do sleep 0.1; done
spec:
  volumes: [{name: memory, emptyDir: {medium: Memory}}]
  containers:
  - name: web
    image: nginx:1.29
    lifecycle: {postStart: {exec: {command: [touch, /var/www/ready]}}}
    readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 1}
    livenessProbe: {exec: {command: [cat, /var/www/ready]}, periodSeconds: 1}
    volumeMounts: [{name: memory, mountPath: /var/www}]
  - {name: job, image: job}
`

// TestKubeletRunsPodsOfTheSimulatedRuntime: a static pod runs, its containers are restarted,
// probed, logged and terminated.
func TestKubeletRunsPodsOfTheSimulatedRuntime(t *testing.T) {
	skipUnlessHost(t)
	k := StartKubeletOf(t, KubeletSimKind)
	k.WriteStatic(t, "scripted.yaml", scriptedPod)
	var pod v1.Pod
	status := func(name string) v1.ContainerStatus {
		for _, c := range pod.Status.ContainerStatuses {
			if c.Name == name {
				return c
			}
		}
		return v1.ContainerStatus{}
	}
	if !testutil.Poll(Timeout, func() bool {
		if pods := k.Pods(t); len(pods) == 1 {
			pod = pods[0]
		}
		return status("web").Ready && status("job").Ready && status("job").RestartCount == 2
	}) {
		t.Fatalf("the kubelet reports %+v", pod.Status)
	}
	last := cmp.Or(status("job").LastTerminationState.Terminated, &v1.ContainerStateTerminated{})
	if pod.Status.Phase != v1.PodRunning || pod.Status.PodIP != "127.88.0.2" || last.ExitCode != 3 || last.Message != "no luck\n" {
		t.Errorf("phase %s, address %q, last run %+v", pod.Status.Phase, pod.Status.PodIP, last)
	}
	if log := k.Get(t, fmt.Sprintf("/containerLogs/%s/%s/job", pod.Namespace, pod.Name)); log != "attempt 2\n" {
		t.Errorf("log %q", log)
	}
	if stats := k.Get(t, "/stats/summary"); !strings.Contains(stats, `"name": "`+pod.Name+`"`) {
		t.Errorf("the pod is not in the summary of the stats:\n%s", stats)
	}
	k.RemoveStatic(t, "scripted.yaml")
	eventually(t, "the kubelet terminates the pod", func() bool { return len(k.Pods(t)) == 0 })
}
