package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
)

func TestJobSucceedsAndLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		if out, errw, code := p.run(p.marked("job", "echo ran >> /mark/job", never), "-"); code != 0 || errw != "" {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		p.has("job", "ran")
	})
}

func TestFailedJobReportsExitCodeAndLastLines(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		_, errw, code := at(t, rt).run(pod("job", "echo one; echo two; exit 3", never), "-")
		if code != 1 || !strings.Contains(errw, "default/job/c exited 3; its last lines:\n  > one\n  > two\n") {
			t.Errorf("exit %d\n%s", code, errw)
		}
	})
}

// CRI-O creates no container for such a command: that is tried again, as the kubelet
// tries it.
func TestCommandThatDoesNotExist(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		yaml := strings.Replace(pod("job", "", never), "[sh, -c,", "[/no/such/file,", 1)
		reason := "StartError"
		if strings.HasPrefix(rt.Kind, live.CRIO) {
			reason = "CreateContainerError"
		}
		_, errw, code := at(t, rt).run(yaml, "--wait-timeout", "15s", "-")
		if code != 1 || !strings.Contains(errw, "/no/such/file") || !strings.Contains(errw, reason) {
			t.Errorf("exit %d\n%s", code, errw)
		}
	})
}

func TestMissingImage(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		registry := live.Registry(t)
		yaml := strings.Replace(pod("job", "true", never), "docker.io/library/busybox:latest", registry.Image("nope:1"), 1)
		_, errw, code := at(t, rt).run(yaml, "--wait-timeout", "15s", "-")
		// Before the back-off it says what the runtime says, which may leave out the tag.
		if code != 1 || !strings.Contains(errw, "ImagePull") || !strings.Contains(errw, registry.Image("nope")) {
			t.Errorf("exit %d\n%s", code, errw)
		}
	})
}

func TestImageIsPulled(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		registry := live.Registry(t, "app:1")
		yaml := strings.Replace(pod("job", "true", never), "docker.io/library/busybox:latest", registry.Image("app:1"), 1)
		yaml = strings.Replace(yaml, "IfNotPresent", "Always", 1)
		out, errw, code := at(t, rt).run(yaml, "-o", "json", "-")
		if code != 0 || !strings.Contains(out, `"reason":"Pulled"`) || len(registry.Requests()) == 0 {
			t.Errorf("exit %d, requests %v\n%s%s", code, registry.Requests(), out, errw)
		}
	})
}

func TestInterruptTerminatesGracefully(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt).start(pod("web", `trap "echo bye; exit 0" TERM; echo up; `+forever), "--logs", "-")
		p.prints("| up")
		p.signal(syscall.SIGINT)
		if code := p.wait(); code != 130 {
			t.Errorf("exit %d", code)
		}
		out, errw := p.output()
		if !strings.Contains(out, "| bye") || !strings.Contains(out, "terminating 1 pod") || errw != "" {
			t.Errorf("%s%s", out, errw)
		}
	})
}

func TestSecondInterruptForces(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt).start(pod("web", `trap "" TERM; echo up; `+forever, "terminationGracePeriodSeconds: 3600"), "--logs", "-")
		p.prints("| up")
		p.signal(syscall.SIGINT)
		p.prints("terminating 1 pod, up to 3600s")
		<-time.After(200 * time.Millisecond) // at once it would be the same request
		p.signal(syscall.SIGINT)
		if code := p.wait(); code != 130 {
			t.Errorf("exit %d", code)
		}
	})
}

func TestContainerSeesWhatItsManifestSays(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("of the host"), 0o644); err != nil {
			t.Fatal(err)
		}
		yaml := `
apiVersion: v1
kind: Pod
metadata: {name: seen, namespace: prod, labels: {app: x}}
spec:
  restartPolicy: Never
  hostname: box
  securityContext: {runAsUser: 1234, runAsGroup: 5678, supplementalGroups: [9]}
  volumes:
  - {name: scratch, emptyDir: {}}
  - {name: host, hostPath: {path: ` + dir + `, type: Directory}}
  initContainers:
  - name: init
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo from init > /scratch/x"]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
  containers:
  - name: c
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    workingDir: /tmp
    env:
    - {name: A, value: one}
    - {name: B, value: "$(A) two"}
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: APP, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: MEM, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
    resources: {limits: {cpu: 500m, memory: 64Mi}}
    securityContext: {readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    volumeMounts:
    - {name: scratch, mountPath: /scratch}
    - {name: host, mountPath: /host, readOnly: true}
    command:
    - sh
    - -c
    - |
      echo "env=$A,$B,$NAME,$APP,$MEM"
      echo "id=$(id -u),$(id -g),$(id -G)"
      echo "host=$(hostname),$(pwd)"
      echo "ip=$(hostname -i | grep -c "^$IP")"
      echo "init=$(cat /scratch/x)"
      echo "file=$(cat /host/file)"
      echo x > /host/y 2>/dev/null || echo "host is read-only"
      echo x > /y 2>/dev/null || echo "root is read-only"
      echo "caps=$(grep CapBnd /proc/self/status | tr -s '\t' ' ')"
      echo "mem=$(cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null)"
`
		out, errw, code := p.run(yaml, "--logs", "-")
		if code != 0 || errw != "" {
			t.Fatalf("exit %d\n%s%s", code, out, errw)
		}
		for _, want := range []string{
			"env=one,one two,seen,x,67108864", "id=1234,5678,5678 9", "host=box,/tmp", "ip=1", "init=from init",
			"file=of the host", "host is read-only", "root is read-only", "caps=CapBnd: 0000000000000000", "mem=67108864",
		} {
			if !strings.Contains(out, "prod/seen/c | "+want+"\n") {
				t.Errorf("the container did not see %q", want)
			}
		}
		if t.Failed() {
			t.Log(out)
		}
	})
}
