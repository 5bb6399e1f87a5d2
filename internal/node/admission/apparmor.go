package admission

import (
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// hasAppArmor reports whether the host has AppArmor, by the test of containerd and the kubelet
// (third_party/forked/libcontainer/apparmor).
func hasAppArmor() bool {
	enabled, err := os.ReadFile("/sys/module/apparmor/parameters/enabled")
	_, mounted := os.Stat("/sys/kernel/security/apparmor")
	return err == nil && mounted == nil && len(enabled) > 0 && enabled[0] == 'Y'
}

// wantsAppArmor reports whether anything in the pod is to be confined; an
// annotation of a container counts as its field does (isRequired in
// pkg/security/apparmor/helpers.go).
func wantsAppArmor(p *v1.Pod) bool {
	confines := func(profile *v1.AppArmorProfile) bool {
		return profile != nil && profile.Type != v1.AppArmorProfileTypeUnconfined
	}
	if sc := p.Spec.SecurityContext; sc != nil && confines(sc.AppArmorProfile) {
		return true
	}
	for c := range pod.AllContainers(p) {
		if sc := c.SecurityContext; sc != nil && confines(sc.AppArmorProfile) {
			return true
		}
	}
	for key, value := range p.Annotations {
		if strings.HasPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) && value != v1.DeprecatedAppArmorBetaProfileNameUnconfined {
			return true
		}
	}
	return false
}
