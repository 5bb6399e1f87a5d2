package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// The groups that the image gives its user count with policy Merge, and not
// with Strict; a runtime without that policy gets no pod that needs it.
func TestGroupsOfTheImage(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		grouped := imageOf(t, live.Registry(t), "grouped:1", "33")
		of := func(policy string) string {
			s := seen{
				name: strings.ToLower(policy),
				spec: "securityContext: {supplementalGroups: [9], supplementalGroupsPolicy: " + policy + ", runAsNonRoot: true}",
				sees: []see{{`id -u; id -G`, ``}},
			}
			return strings.Replace(s.manifest(), "docker.io/library/busybox:latest", grouped, 1)
		}
		out, errw := p.outputOf(of("Merge"), 1)
		if !strings.Contains(out, "see 0: 33 33 9 77\n") && !strings.Contains(out, "see 0: 33 9 33 77\n") {
			t.Errorf("merge:\n%s%s", out, errw)
		}
		if rt.Kind == live.Distro || rt.Kind == live.Containerd17 {
			out, errw, code := p.run(of("Strict"), "-")
			if code != 1 || !strings.Contains(errw, "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node") {
				t.Errorf("strict: exit %d\n%s%s", code, out, errw)
			}
			return
		}
		if out, errw = p.outputOf(of("Strict"), 1); !strings.Contains(out, "see 0: 33 33 9\n") && !strings.Contains(out, "see 0: 33 9 33\n") {
			t.Errorf("strict:\n%s%s", out, errw)
		}
	})
}

// A host without AppArmor rejects a pod that asks for it, by field or by
// annotation.
func TestAppArmor(t *testing.T) {
	enabled, err := os.ReadFile("/sys/module/apparmor/parameters/enabled")
	confined := err == nil && strings.HasPrefix(string(enabled), "Y")
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		s := seen{name: "confined", sees: []see{{`cat /proc/self/attr/current`, ``}},
			spec: "securityContext: {appArmorProfile: {type: RuntimeDefault}}"}
		noted := strings.Replace(seen{name: "noted"}.manifest(), "{name: noted}",
			`{name: noted, annotations: {container.apparmor.security.beta.kubernetes.io/c: runtime/default}}`, 1)
		if confined {
			if out, errw := p.outputOf(s.manifest()+noted, 2); !strings.Contains(out, "(enforce)") {
				t.Errorf("%s%s", out, errw)
			}
			return
		}
		out, errw, code := p.run(s.manifest()+noted, "-")
		if code != 1 ||
			!strings.Contains(errw, "default/confined: AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host") ||
			!strings.Contains(errw, "default/noted: AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}
