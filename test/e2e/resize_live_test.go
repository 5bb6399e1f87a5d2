package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/test/live"
)

// limitsSeen writes the limits that a container sees of itself to /mark/NAME, memory
// in MiB and CPU time in ms for each 100 ms, and to /mark/NAME.up that it started.
func limitsSeen(name string) string {
	return fmt.Sprintf(`echo up >> /mark/%[1]s.up; cd /sys/fs/cgroup; while true; do `+
		`m=$(cat memory.max 2>/dev/null || cat memory/memory.limit_in_bytes); c=$(cat cpu.max 2>/dev/null || cat cpu/cpu.cfs_quota_us); `+
		`echo $((m>>20)) $((${c%%%% *}/1000)) > /mark/.%[1]s; mv /mark/.%[1]s /mark/%[1]s; sleep 0.1; done`, name)
}

// A container is resized in place, and one whose policy is to restart for it restarts;
// the cgroup of the pod and the status follow, also in the eyes of the next agent.
func TestPodIsResizedInPlace(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		sized := func(name, cpu, memory, more string) string {
			return fmt.Sprintf("  - name: %s\n    image: docker.io/library/busybox:latest\n    imagePullPolicy: IfNotPresent\n"+
				"    volumeMounts: [{name: mark, mountPath: /mark}]\n    resources: {limits: {cpu: %s, memory: %s}}\n%s    command: [sh, -c, %q]\n",
				name, cpu, memory, more, limitsSeen(name))
		}
		web := func(cpu, memory, memoryOfD string) string {
			head, _, _ := strings.Cut(a.marked("web", "", "terminationGracePeriodSeconds: 1"), "  - name: c\n")
			return head + sized("c", cpu, memory, "") + sized("d", "100m", memoryOfD, "    resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]\n")
		}
		a.put("web.yaml", web("200m", "64Mi", "32Mi"))
		agent := a.agent()
		a.wrote("c", "64", "20")
		a.wrote("d", "32", "10")
		sandbox := a.sandboxes()["web"]

		a.put("web.yaml", web("300m", "96Mi", "48Mi"))
		a.wrote("c", "96", "30")
		a.wrote("d", "48", "10")
		a.has("c.up", "up")
		a.wrote("d.up", "up", "up")
		a.wantSize("300m", "96Mi")

		agent.signal(syscall.SIGKILL)
		agent.wait()
		a.put("web.yaml", web("100m", "80Mi", "48Mi"))
		agent = a.agent()
		a.wrote("c", "80", "10")
		a.wantSize("100m", "80Mi")
		a.has("c.up", "up")
		a.has("d.up", "up", "up")
		if now := a.sandboxes()["web"]; now != sandbox {
			t.Errorf("sandbox %s became %s", sandbox, now)
		}
		a.remove("web.yaml")
		a.holds()
		agent.ends(syscall.SIGTERM, 0)
	})
}

// wantSize waits until the status of container c of the pod web shows these limits,
// where the runtime reports them, and no resize is in progress.
func (a *agentPlace) wantSize(cpu, memory string) {
	a.t.Helper()
	reported := a.rt.Kind != live.Distro
	eventually(a.t, fmt.Sprintf("the status shows %s and %s", cpu, memory), func() bool {
		s := a.status("web")
		if len(s.ContainerStatuses) == 0 || s.ContainerStatuses[0].AllocatedResources.Cpu().String() != cpu {
			return false
		}
		for _, c := range s.Conditions {
			if c.Type == v1.PodResizeInProgress || c.Type == v1.PodResizePending {
				return false
			}
		}
		r := s.ContainerStatuses[0].Resources
		return !reported || r != nil && r.Limits.Cpu().String() == cpu && r.Limits.Memory().String() == memory
	}, func() string { return fmt.Sprintf("%+v", a.status("web")) })
}
