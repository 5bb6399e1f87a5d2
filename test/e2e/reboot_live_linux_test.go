package e2e

import (
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live/record"
)

// The machine is rebooted while pods run, and while one terminates: pods are
// there once, what had terminated stays so, and volumes in memory are mounted again.
func TestReboot(t *testing.T) {
	eachFault(t, func(t *testing.T, a *agentPlace) {
		memory := func(yaml string) string {
			yaml = strings.Replace(yaml, "volumes: [", "volumes: [{name: memory, emptyDir: {medium: Memory}}, {name: disk, emptyDir: {}}, ", 1)
			yaml = strings.Replace(yaml, "volumeMounts: [", "volumeMounts: [{name: memory, mountPath: /memory}, {name: disk, mountPath: /disk}, ", 1)
			return strings.Replace(yaml, "cd /mark;", "cd /mark; grep -c ' /memory tmpfs ' /proc/mounts >> mounted; echo x >> /memory/x; echo x >> /disk/x; wc -l < /memory/x >> kept; wc -l < /disk/x >> kept;", 1)
		}
		a.put("web.yaml", memory(a.lone("web", "")))
		a.put("job.yaml", a.marked("job", "echo ran >> /mark/job", never))
		a.put("half.yaml", a.marked("half", "echo began >> /mark/half; sleep 3600", never))
		a.put("going.yaml", a.marked("going", `trap "echo down >> /mark/going" TERM; echo up >> /mark/going; `+forever, "terminationGracePeriodSeconds: 600"))
		agent := a.agent("-o", "json")
		a.lived("web", "up")
		a.wrote("job", "ran")
		a.wrote("half", "began")
		a.wrote("going", "up")
		a.remove("going.yaml")
		a.wrote("going", "up", "down")
		eventually(t, "the job has ended", func() bool {
			out, _ := agent.output()
			return slices.ContainsFunc(sofar(t, out), func(l line) bool { return l.Name == "job" && l.Reason == "Ended" })
		}, func() string { out, _ := agent.output(); return out })

		agent.ends(syscall.SIGKILL, -1)
		a.boot()
		agent = a.agent("--drain", "-o", "json")
		a.lived("web", "up", "up")
		a.has("mounted", "1", "1")
		a.has("kept", "1", "1", "1", "2")
		var restarts int32 = -1
		eventually(t, "web is ready", func() bool {
			pods, err := a.control().Pods(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range pods.Items {
				if p.Name == "web" && len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].Ready {
					restarts = p.Status.ContainerStatuses[0].RestartCount
				}
			}
			return restarts >= 0
		}, func() string { out, errw := agent.output(); return out + errw })
		if restarts != 1 {
			t.Errorf("restart count %d, the kubelet's is 1", restarts)
		}
		a.holds("half", "job", "web")
		a.wrote("going", "up", "down")
		a.wrote("job", "ran")
		a.wrote("half", "began") // a job that died in it does not run again
		a.remove("job.yaml")     // what a job has done is remembered while it is wanted
		a.remove("half.yaml")
		a.holds("web")
		agent.ends(syscall.SIGTERM, 0)
		a.lived("web", "up", "up", "down")
	})
}

// The machine is rebooted in the middle of a start, and of a termination.
func TestRebootDuringStartAndTermination(t *testing.T) {
	eachFault(t, func(t *testing.T, a *agentPlace) {
		a.proxied()
		agent := a.agent()
		cutAt := func(method string, do func()) {
			var once sync.Once
			a.proxy.Watch(nil, func(c record.Call) {
				if c.Method == method {
					once.Do(func() { _ = agent.cmd.Process.Kill(); <-agent.done })
				}
			})
			do()
			if code := agent.wait(); code != -1 {
				t.Errorf("exit %d", code)
			}
			a.proxy.Watch(nil, nil)
			a.boot()
			agent = a.agent()
		}
		cutAt("CreateContainer", func() { a.put("web.yaml", a.walked("web", "1")) })
		a.lived("web", "up1")
		cutAt("StopPodSandbox", func() { a.put("web.yaml", a.walked("web", "2")) })
		a.lived("web", "up1", "down1", "up2")
		cutAt("RemoveContainer", func() { a.remove("web.yaml") })
		a.lived("web", "up1", "down1", "up2", "down2")
		a.within("the pod is gone", a.empty)
		agent.ends(syscall.SIGTERM, 0)
	})
}

// boot reboots the machine, as far as the runtime, podctl and its pods see.
func (a *agentPlace) boot() {
	a.t.Helper()
	a.unmountAll()
	for _, gone := range append(glob(a.t, a.path("mark")+"/*.on"), a.path("run")) {
		if err := os.RemoveAll(gone); err != nil {
			a.t.Fatal(err)
		}
	}
	a.rt.Reboot(a.t)
}

// unmountAll unmounts all mounts below the place, as a reboot does.
func (p *place) unmountAll() {
	p.t.Helper()
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		p.t.Fatal(err)
	}
	all := slices.Collect(strings.Lines(string(data)))
	slices.Reverse(all)
	for _, l := range all {
		if target := strings.Fields(l)[4]; strings.HasPrefix(target, p.dir+"/") {
			if err := syscall.Unmount(target, syscall.MNT_DETACH); err != nil {
				p.t.Fatalf("unmount %s: %v", target, err)
			}
		}
	}
}
