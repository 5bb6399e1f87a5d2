package guest

import (
	"fmt"
	"strings"
	"testing"
)

// profile is a script that loads an AppArmor profile podctl-test with more rules.
func profile(rules string) string {
	return fmt.Sprintf(`apparmor_parser -r <<X
abi <abi/3.0>,
profile podctl-test flags=(attach_disconnected,mediate_deleted) { file, network, capability, mount, umount, pivot_root, ptrace, unix, %s }
X
`, rules)
}

// confined is a pod that the agent runs under the profile podctl-test.
var confined = strings.Replace(strings.Replace(manifest, "NAME", "confined", 1), "spec:\n",
	"spec:\n  securityContext: {appArmorProfile: {type: Localhost, localhostProfile: podctl-test}}\n", 1)

// A pod whose profile is not loaded waits, and runs once it is.
func TestLocalhostProfile(t *testing.T) {
	node(t)
	defer sh(t, "rm -f /etc/podctl/manifests/confined.yaml")
	sh(t, "cat >/etc/podctl/manifests/confined.yaml <<X\n"+confined+"X\n")
	eventually(t, "podctl starting confined | grep -c podctl-test || true", "1")
	sh(t, "podctl starting confined")
	sh(t, profile("signal,"))
	eventually(t, running, "7 Running")
	if out := sh(t, "podctl exec confined -- cat /proc/1/attr/current"); out != "podctl-test (enforce)" {
		t.Error("it is not confined")
	}
	sh(t, "rm /etc/podctl/manifests/confined.yaml")
	eventually(t, running, "6 Running")
	sh(t, `echo 'profile podctl-test {}' | apparmor_parser -R`)
}

// A pod that AppArmor does not let die terminates for as long: the denial is what is said,
// and it ends once its profile allows signals.
func TestPodThatAppArmorDoesNotLetDie(t *testing.T) {
	node(t)
	sh(t, profile("deny signal,"))
	sh(t, "cat >/etc/podctl/manifests/confined.yaml <<X\n"+confined+"X\n")
	eventually(t, running, "7 Running")
	sh(t, "rm /etc/podctl/manifests/confined.yaml")
	eventually(t, "podctl terminating confined | grep -ciE 'apparmor|denied' || true", "1")
	sh(t, "podctl terminating confined; podctl describe confined; dmesg | grep DENIED | tail -n 2")
	sh(t, profile("signal,"))
	eventually(t, running, "6 Running")
	sh(t, `echo 'profile podctl-test {}' | apparmor_parser -R`)
}
