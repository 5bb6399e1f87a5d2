package main

import (
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/lab/sim"
)

// nonRoot is a pod that does not want to run as root.
const nonRoot = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  securityContext: {runAsNonRoot: true}
  containers: [{name: c, image: app:1, imagePullPolicy: IfNotPresent, command: [sleep, "100"]}]
`

// An image of root is refused until somebody mends the image.
func TestImageOfRootIsRefusedUntilItIsMended(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(nonRoot)
		c.printed("c: CreateContainerConfigError: container has runAsNonRoot and image will run as root (pod: \"web_default(")
		w.sim.SetImage("app:1", sim.ImageScript{User: "www-data"})
		time.Sleep(15 * time.Second)
		c.printed("c: CreateContainerConfigError: container has runAsNonRoot and image has non-numeric user (www-data), cannot verify user is non-root (pod: \"web_default(")
		w.sim.SetImage("app:1", sim.ImageScript{UID: new(int64(33))})
		time.Sleep(15 * time.Second)
		c.printed("c started")
		c.interrupt()
		c.ends(130, time.Minute)
		c.silent()
		w.holds(0)
	})
}

const tuned = `
apiVersion: v1
kind: Pod
metadata: {name: tuned}
spec:
  restartPolicy: Never
  securityContext: {sysctls: [{name: net.core.somaxconn, value: "1024"}]}
  containers: [{name: c, image: app:1, imagePullPolicy: IfNotPresent, command: [sleep, "1"]}]
`

// A sysctl that pods may not set fails its pod, and no other; with the flag of
// the hint, the same pod runs.
func TestForbiddenSysctl(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(tuned + "---" + strings.NewReplacer("tuned", "plain", "net.core.somaxconn", "net.ipv4.tcp_syncookies").Replace(tuned))
		c.ends(1, time.Second)
		c.printed("default/tuned         Failed     SysctlForbidden: forbidden sysctl: \"net.core.somaxconn\" not allowlisted", "default/plain         Succeeded")
		const says = "default/tuned: SysctlForbidden: forbidden sysctl: \"net.core.somaxconn\" not allowlisted\n" +
			"  hint: allow it if you trust the pod: --allowed-unsafe-sysctls net.core.somaxconn\n"
		if !strings.Contains(c.errw.String(), says) {
			t.Errorf("stderr: %s", c.errw.String())
		}
		w.holds(0)

		c = w.run(tuned, "--allowed-unsafe-sysctls", "net.core.*")
		c.ends(0, time.Second)
		c.silent()
		w.holds(0)
	})
}

func TestSysctlThatCannotBeAllowed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(tuned, "--allowed-unsafe-sysctls", "vm.swappiness")
		c.ends(2, time.Second)
		if want := `--allowed-unsafe-sysctls: allow sysctl "vm.swappiness": not known to be namespaced by the kernel`; !strings.Contains(c.errw.String(), want) {
			t.Errorf("stderr: %s", c.errw.String())
		}
	})
}

const tooLong = `
apiVersion: v1
kind: Pod
metadata: {name: long}
spec:
  hostname: a-hostname-that-has-quite-a-few-characters-already
  subdomain: and-its-subdomain
  setHostnameAsFQDN: true
  containers: [{name: c, image: app:1, imagePullPolicy: IfNotPresent, command: [sleep, "1"]}]
`

func TestFQDNThatIsTooLongForTheKernel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(tooLong)
		c.printed("FailedCreatePodSandBox: failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN a-hostname-",
			"is too long (64 characters is the max, 81 characters requested)")
		c.goesOn()
		c.interrupt()
		c.ends(130, time.Minute)
		w.holds(0)
	})
}
