package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/test/live"
)

// follower is a pod that shows what it sees of itself at /mark/seen, and stays the
// same pod when its manifest changes in place.
func (a *agentPlace) follower(label, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: web
  uid: follower-1
  generation: %s
  labels: {seen: %s}
  annotations: {dir: %q}
spec:
  terminationGracePeriodSeconds: 1
  %s
  volumes:
  - {name: mark, hostPath: {path: %s, type: Directory}}
  - name: plain
    downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}
  - name: all
    projected: {sources: [{downwardAPI: {items: [{path: dir, fieldRef: {fieldPath: "metadata.annotations['dir']"}}]}}]}
  containers:
  - name: c
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'echo up >> /mark/web; while true; do echo $(cat /plain/labels) $(cat /all/dir) > /mark/.seen; mv /mark/.seen /mark/seen; sleep 0.1; done']
    volumeMounts: [{name: mark, mountPath: /mark}, {name: plain, mountPath: /plain}, {name: all, mountPath: /all}]
`, label, "v"+label, "d"+label, more, a.path("mark"))
}

// status is that of the agent's pod, the zero value while no agent answers.
func (a *agentPlace) status(name string) v1.PodStatus {
	a.t.Helper()
	list, err := a.control().Pods(a.t.Context())
	if err != nil {
		return v1.PodStatus{}
	}
	for _, p := range list.Items {
		if p.Name == name {
			return p.Status
		}
	}
	return v1.PodStatus{}
}

// A running pod follows its manifest: its downward API volumes, plain and projected,
// its deadline, and the generation in its status; also when the manifest changed
// while no agent was there.
func TestRunningPodIsUpdatedInPlace(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.put("web.yaml", a.follower("1", ""))
		agent := a.agent()
		a.wrote("seen", `seen="v1"`, "d1")
		sandbox := a.sandboxes()["web"]

		a.put("web.yaml", a.follower("2", ""))
		a.wrote("seen", `seen="v2"`, "d2")
		if got := a.status("web").ObservedGeneration; got != 2 {
			t.Errorf("observed generation %d", got)
		}
		agent.signal(syscall.SIGKILL)
		agent.wait()
		a.put("web.yaml", a.follower("3", ""))
		agent = a.agent()
		a.wrote("seen", `seen="v3"`, "d3")
		a.has("web", "up")
		if now := a.sandboxes()["web"]; now != sandbox {
			t.Errorf("sandbox %s became %s", sandbox, now)
		}

		began := time.Now()
		a.put("web.yaml", a.follower("4", "activeDeadlineSeconds: 2"))
		eventually(t, "the deadline ends the pod", func() bool { return a.status("web").Reason == "DeadlineExceeded" },
			func() string { return fmt.Sprintf("%+v", a.status("web")) })
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the deadline took %v", took)
		}
		a.remove("web.yaml")
		a.holds()
		agent.ends(syscall.SIGTERM, 0)
	})
}

// Another image restarts the container that crashed without its back-off, and a
// subPathExpr that failed is expanded again once the annotation changes.
func TestFailedUpdateIsRetriedWithNextVersion(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		crash := a.marked("crash", "echo up >> /mark/crash; exit 1")
		a.put("crash.yaml", crash)
		sub := func(dir string) string {
			return strings.NewReplacer("metadata: {name: sub}", fmt.Sprintf("metadata: {name: sub, annotations: {dir: %q}}", dir),
				"{name: mark, mountPath: /mark}", "{name: mark, mountPath: /mark, subPathExpr: $(DIR)}",
				"command:", "env: [{name: DIR, valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['dir']\"}}}]\n    command:",
			).Replace(a.marked("sub", "echo up >> /mark/sub; sleep 3600"))
		}
		a.put("sub.yaml", sub("/not/relative"))
		agent := a.agent()
		eventually(t, "the container is in its second back-off", func() bool {
			s := a.status("crash").ContainerStatuses
			return len(s) == 1 && s[0].State.Waiting != nil && strings.HasPrefix(s[0].State.Waiting.Message, "back-off 20s ")
		}, func() string { return fmt.Sprintf("%+v", a.status("crash")) })
		eventually(t, "the sub path fails", func() bool {
			s := a.status("sub").ContainerStatuses
			return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "CreateContainerConfigError"
		}, func() string { return fmt.Sprintf("%+v", a.status("sub")) })

		runs := len(a.marks("crash"))
		began := time.Now()
		a.put("crash.yaml", strings.Replace(crash, "busybox:latest", "busybox", 1))
		a.put("sub.yaml", sub("below"))
		eventually(t, "the container starts again", func() bool { return len(a.marks("crash")) > runs },
			func() string { return fmt.Sprintf("%+v", a.status("crash")) })
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("the new image started after %v, as if by the old back-off", took)
		}
		a.wrote("below/sub", "up")
		a.remove("crash.yaml")
		a.remove("sub.yaml")
		a.holds()
		agent.ends(syscall.SIGTERM, 0)
	})
}
