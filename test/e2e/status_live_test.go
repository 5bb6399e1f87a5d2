package e2e

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/test/live"
)

// endings is a pod whose containers terminate in every way, and pods that the
// restart policy and the deadline terminate.
const endings = `
apiVersion: v1
kind: Pod
metadata: {name: endings}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: good, image: IMAGE, imagePullPolicy: IfNotPresent, command: [sh, -c, "printf 'all done' > /dev/termination-log; echo not this"]}
  - {name: own, image: IMAGE, imagePullPolicy: IfNotPresent, command: [sh, -c, "printf bye > /last; exit 4"], terminationMessagePath: /last}
  - {name: log, image: IMAGE, imagePullPolicy: IfNotPresent, command: [sh, -c, "echo first; echo last; exit 3"], terminationMessagePolicy: FallbackToLogsOnError}
  - {name: oom, image: IMAGE, imagePullPolicy: IfNotPresent, command: [sh, -c, "x=a; while true; do x=$x$x; done"], resources: {limits: {memory: 16Mi}}}
  - {name: nofile, image: IMAGE, imagePullPolicy: IfNotPresent, command: [/no/such/file]}
  - {name: user, image: IMAGE, imagePullPolicy: IfNotPresent, command: ["true"], securityContext: {runAsUser: 1000, runAsGroup: 2000}}
---
apiVersion: v1
kind: Pod
metadata: {name: late}
spec:
  activeDeadlineSeconds: 2
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: IMAGE, imagePullPolicy: IfNotPresent, command: [sleep, "1000"]}
---
apiVersion: v1
kind: Pod
metadata: {name: rules}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: retried
    image: IMAGE
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo retried >> /d/log; [ $(grep -c retried /d/log) -gt 1 ] || exit 7; cp /d/log /dev/termination-log"]
    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [7]}}]
    volumeMounts: [{name: d, mountPath: /d}]
  - name: once
    image: IMAGE
    imagePullPolicy: IfNotPresent
    command: [sh, -c, exit 8]
    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: NotIn, values: [8]}}]
  volumes: [{name: d, emptyDir: {}}]
---
apiVersion: v1
kind: Pod
metadata: {name: all}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: init, image: IMAGE, imagePullPolicy: IfNotPresent, command: [sh, -c, "echo init >> /d/log"], volumeMounts: [{name: d, mountPath: /d}]}
  containers:
  - name: asks
    image: IMAGE
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo asks >> /d/log; [ $(grep -c asks /d/log) -gt 1 ] || exit 42; cp /d/log /dev/termination-log"]
    restartPolicy: Never
    restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]
    volumeMounts: [{name: d, mountPath: /d}]
  - {name: beside, image: IMAGE, imagePullPolicy: IfNotPresent, command: [sh, -c, "trap 'exit 0' TERM; sleep 3 & wait"]}
  volumes: [{name: d, emptyDir: {}}]
`

// TestStatusOfTerminatedContainers runs pods whose containers terminate in every
// way and reads their statuses from run -o yaml.
func TestStatusOfTerminatedContainers(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		manifest := strings.ReplaceAll(endings, "IMAGE", "docker.io/library/busybox:latest")
		// CRI-O creates no container for a command that does not exist: the pod would
		// wait for it.
		fails := !strings.HasPrefix(rt.Kind, live.CRIO)
		if !fails {
			manifest = withoutLine(manifest, "name: nofile")
		}
		out, errw, code := at(t, rt).run(manifest, "-o", "yaml", "-")
		if code != 1 {
			t.Fatalf("exit %d\n%s%s", code, out, errw)
		}
		pods := map[string]v1.Pod{}
		for document := range strings.SplitSeq(out, "---\n") {
			var p v1.Pod
			if err := yaml.UnmarshalStrict([]byte(document), &p); err != nil {
				t.Fatalf("%v\n%s", err, document)
			}
			pods[p.Name] = p
		}
		for _, want := range []struct {
			pod, container, reason, message string
			code                            int32
			restarts                        int32
		}{
			{"endings", "good", "Completed", "all done", 0, 0},
			{"endings", "own", "Error", "bye", 4, 0},
			{"endings", "log", "Error", "first\nlast\n", 3, 0},
			{"endings", "oom", "OOMKilled", "", 137, 0},
			{"endings", "user", "Completed", "", 0, 0},
			{"rules", "retried", "Completed", "retried\nretried\n", 0, 1},
			{"rules", "once", "Error", "", 8, 0},
			{"all", "asks", "Completed", "init\nasks\ninit\nasks\n", 0, 1},
			{"all", "beside", "Completed", "", 0, 1},
			{"all", "init", "Completed", "", 0, 1},
		} {
			c := containerNamed(pods[want.pod], want.container)
			end := c.State.Terminated
			if end == nil || end.Reason != want.reason || end.Message != want.message || end.ExitCode != want.code || c.RestartCount != want.restarts {
				t.Errorf("%s/%s: %+v, %d restarts; want %+v", want.pod, want.container, end, c.RestartCount, want)
			}
		}
		// Its message is the runtime's, and so is its reason.
		end := containerNamed(pods["endings"], "nofile").State.Terminated
		if fails && (end == nil || end.Reason != "StartError" || end.ExitCode != 128 || !strings.Contains(end.Message, "/no/such/file")) {
			t.Errorf("nofile: %+v", end)
		}
		for name, phase := range map[string]v1.PodPhase{"endings": v1.PodFailed, "late": v1.PodFailed, "rules": v1.PodFailed, "all": v1.PodSucceeded} {
			if s := pods[name].Status; s.Phase != phase || s.PodIP == "" || s.HostIP == "" || s.StartTime == nil {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if s := pods["late"].Status; s.Reason != "DeadlineExceeded" || s.Message == "" {
			t.Errorf("late: %s %q", s.Reason, s.Message)
		}
		user := containerNamed(pods["endings"], "user").User
		reported := rt.Kind != live.Distro && rt.Kind != live.Containerd17 // containerd does since 2.0
		if reported && (user == nil || user.Linux.UID != 1000 || user.Linux.GID != 2000) {
			t.Errorf("user: %+v", user)
		}
		if last := containerNamed(pods["all"], "beside").LastTerminationState.Terminated; last == nil || last.Reason != "RestartingAllContainers" {
			t.Errorf("beside ended before as %+v", last)
		}
	})
}

func containerNamed(p v1.Pod, name string) v1.ContainerStatus {
	for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		if c.Name == name {
			return c
		}
	}
	return v1.ContainerStatus{}
}

// withoutLine removes the lines that contain a text.
func withoutLine(text, part string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, part) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
