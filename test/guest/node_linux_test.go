package guest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A pod runs without a flag on a containerd that cannot say which driver it has.
func TestHelloWithoutFlags(t *testing.T) {
	for _, driver := range []string{"cgroupfs", "systemd"} {
		t.Run(driver, func(t *testing.T) {
			service(t, driver)
			if out := sh(t, "/disk/bin/podctl run --logs /disk/examples/hello.yaml"); !strings.Contains(out, "hello from hello") {
				t.Error("the pod did not print its line")
			}
		})
	}
}

// The agent's pods go on while containerd restarts, while systemd reads its units again, and
// while the agent is stopped.
func TestPodsGoOnWhileServicesRestart(t *testing.T) {
	node(t)
	before := sh(t, ids)
	for _, disturb := range []string{"systemctl restart containerd", "systemctl daemon-reload", "systemctl daemon-reexec",
		"systemctl restart podctl-agent", "systemctl kill --signal KILL podctl-agent"} {
		sh(t, disturb)
		eventually(t, "systemctl is-active podctl-agent", "active")
		eventually(t, running, "6 Running")
		if after := sh(t, ids); after != before {
			t.Errorf("%s: the containers are\n%s\nwere\n%s", disturb, after, before)
		}
	}
}

// The unit's watchdog ends an agent whose sync loop has stopped, and pods go on.
func TestWatchdogRestartsAgent(t *testing.T) {
	node(t)
	before, pid := sh(t, ids), sh(t, "systemctl show -P MainPID podctl-agent")
	sh(t, "kill -STOP "+pid)
	eventually(t, fmt.Sprintf(`[ "$(systemctl show -P MainPID podctl-agent)" != %s ] && systemctl is-active podctl-agent`, pid), "active")
	eventually(t, running, "6 Running")
	if after := sh(t, ids); after != before {
		t.Errorf("the containers are\n%s\nwere\n%s", after, before)
	}
	if log := sh(t, "journalctl --no-pager -u podctl-agent | grep -i watchdog"); !strings.Contains(log, "timeout") {
		t.Error("systemd did not end it")
	}
}

// After a reboot each pod runs once more, in new slices.
func TestReboot(t *testing.T) {
	node(t)
	before, boot := sh(t, ids), sh(t, "cat /proc/sys/kernel/random/boot_id")
	_, _ = try(t, "systemctl reboot")
	eventually(t, fmt.Sprintf(`[ "$(cat /proc/sys/kernel/random/boot_id)" != %s ] && systemctl is-active podctl-agent`, boot), "active")
	eventually(t, running, "6 Running")
	sh(t, "podctl pods; systemctl list-units --no-legend 'podctl*.slice'; podctl orphans")
	eventually(t, "podctl orphans -o name", "")
	after := sh(t, ids)
	for line := range strings.Lines(before) {
		if strings.Contains(after, strings.TrimSpace(line)) {
			t.Errorf("%q outlived the reboot", line)
		}
	}
}

// A clock that steps a day, ahead and back, changes neither pods nor what is said of them.
func TestClockSteps(t *testing.T) {
	node(t)
	before := sh(t, ids)
	for _, step := range []string{"1 day", "1 day ago"} {
		sh(t, fmt.Sprintf("date -s '%s'", step))
		time.Sleep(10 * time.Second)
		if out := sh(t, "podctl pods; podctl ps; podctl starting; podctl terminating; podctl events | tail -n 3"); strings.Contains(out, "invalid") {
			t.Errorf("after a step of %s podctl prints an invalid time", step)
		}
		if after := sh(t, ids); after != before {
			t.Errorf("%s: the containers are\n%s\nwere\n%s", step, after, before)
		}
		if out := sh(t, "podctl orphans -o name"); out != "" {
			t.Errorf("after a step of %s there are orphans", step)
		}
	}
}

// Nothing of an agent's six pods is an orphan, also when sandboxes have been there for longer
// than anything takes that begins or ends.
func TestNoOrphansBesideAnAgent(t *testing.T) {
	node(t)
	sh(t, "podctl describe web-0")
	for range 10 {
		if out := sh(t, "podctl orphans"); strings.Contains(out, "web-") || strings.Contains(out, "leaked") {
			t.Error("a pod of the agent is an orphan")
		}
		time.Sleep(time.Minute)
	}
	sh(t, "podctl orphans; podctl orphans --exit-code --kill --dry-run")
}

// describe has the cgroup of a pod, its memory and its pressure.
func TestDescribeShowsCgroup(t *testing.T) {
	node(t)
	out := sh(t, "podctl describe web-0")
	for _, want := range []string{`Cgroup +/podctl.*\.slice`, `memory .* of 32Mi`, `PSI avg10: cpu`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q", want)
		}
	}
}

// Containers do not swap where the node does, and end by the OOM killer at their limit.
func TestSwapIsOff(t *testing.T) {
	sh(t, "[ -f /swap ] || { fallocate -l 256M /swap && chmod 600 /swap && mkswap -q /swap; }; swapon /swap")
	defer sh(t, "swapoff /swap")
	node(t)
	if out := sh(t, "podctl exec web-0 -- cat /sys/fs/cgroup/memory.swap.max"); out != "0" {
		t.Errorf("a container may swap %s bytes", out)
	}
	out, _ := try(t, `podctl run - <<X
apiVersion: v1
kind: Pod
metadata: {name: hog}
spec:
  restartPolicy: Never
  containers:
  - {name: c, image: docker.io/library/busybox:latest, imagePullPolicy: IfNotPresent, command: [sh, -c, "tail /dev/zero"], resources: {limits: {memory: 24Mi}}}
X`)
	t.Log(out)
	if !strings.Contains(out, "OOM") {
		t.Error("it was not killed for its memory")
	}
}

// The package ends its agent when it is removed, and leaves nothing of its own; pods that the
// agent ran stay until somebody removes them.
func TestPackageIsPurged(t *testing.T) {
	node(t)
	before := sh(t, ids)
	sh(t, "cp /usr/bin/podctl /root/podctl && systemctl stop podctl-agent")
	if after := sh(t, ids); after != before {
		t.Errorf("stopped, the containers are\n%s\nwere\n%s", after, before)
	}
	sh(t, "systemctl start podctl-agent && DEBIAN_FRONTEND=noninteractive apt-get purge -qq -y podctl")
	if out, err := try(t, "systemctl cat podctl-agent || pgrep -x podctl"); err == nil {
		t.Errorf("left: %s", out)
	}
	sh(t, "/root/podctl orphans; /root/podctl orphans --kill --rm --grace-period 0; /root/podctl pods; rm -rf /etc/podctl /root/podctl")
}

// What 35 specs of Kubernetes' node tests ask of a container, and a host without CAP_SYS_RESOURCE
// or without dummy links does not show.
func TestOOMScoreAndDummyLink(t *testing.T) {
	node(t)
	defer sh(t, "rm -f /etc/podctl/manifests/facts.yaml")
	guaranteed := strings.NewReplacer("NAME", "facts", "{limits: {memory: 32Mi}}", "{limits: {cpu: 100m, memory: 32Mi}}\n    securityContext: {capabilities: {add: [NET_ADMIN]}}").Replace(manifest)
	sh(t, "cat >/etc/podctl/manifests/facts.yaml <<'X'\n"+guaranteed+"X\n")
	eventually(t, phase("facts"), "Running")
	if out := sh(t, "podctl exec facts -- cat /proc/1/oom_score_adj"); out != "-997" {
		t.Errorf("the OOM score is %s", out)
	}
	sh(t, "podctl exec facts -- ip link add d0 type dummy; podctl exec facts -- ip link show d0")
}
