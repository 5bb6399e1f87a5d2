package admission

import (
	"net/netip"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRejectionsHaveKubeletText(t *testing.T) {
	plain, err := NewSysctls("6.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	profile := func(kind v1.AppArmorProfileType) *v1.AppArmorProfile { return &v1.AppArmorProfile{Type: kind} }
	ofPod := func(kind v1.AppArmorProfileType) v1.Pod {
		return v1.Pod{Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{AppArmorProfile: profile(kind)}}}
	}
	ofContainer := func(kind v1.AppArmorProfileType) []v1.Container {
		return []v1.Container{{Name: "c", SecurityContext: &v1.SecurityContext{AppArmorProfile: profile(kind)}}}
	}
	annotated := func(value string) v1.Pod {
		return v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"container.apparmor.security.beta.kubernetes.io/c": value}}}
	}
	labelled := func(os string) v1.Pod {
		return v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kubernetes.io/os": os}}}
	}
	grouped := func(policy v1.SupplementalGroupsPolicy) v1.Pod {
		return v1.Pod{Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{SupplementalGroupsPolicy: &policy}}}
	}
	const noAppArmor = "AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host"
	all := Policy{Sysctls: plain, AppArmor: true}
	none := Policy{Sysctls: plain}
	services := Policy{Services: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/16")}}
	hostIP := func(ip string) v1.Pod {
		return v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Ports: []v1.ContainerPort{{HostPort: 80, HostIP: ip}}}}}}
	}
	tests := []struct {
		name         string
		on           Policy
		strictGroups bool
		pod          v1.Pod
		refused      string
	}{
		{"anything", none, false, v1.Pod{}, ""},
		{"a sysctl", none, false, *podWith(nil, "kernel.sem"), `SysctlForbidden: forbidden sysctl: "kernel.sem" not allowlisted`},
		{"label linux", none, false, labelled("linux"), ""},
		{"label windows", none, false, labelled("windows"), "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"},
		{"groups merged", none, false, grouped(v1.SupplementalGroupsPolicyMerge), ""},
		{"groups strict", none, false, grouped(v1.SupplementalGroupsPolicyStrict), "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node"},
		{"groups strict, where the runtime can", none, true, grouped(v1.SupplementalGroupsPolicyStrict), ""},
		{"AppArmor, where the host can", all, false, ofPod(v1.AppArmorProfileTypeRuntimeDefault), ""},
		{"AppArmor of the pod", none, false, ofPod(v1.AppArmorProfileTypeRuntimeDefault), noAppArmor},
		{"no AppArmor of the pod", none, false, ofPod(v1.AppArmorProfileTypeUnconfined), ""},
		{"AppArmor of a container", none, false, v1.Pod{Spec: v1.PodSpec{Containers: ofContainer(v1.AppArmorProfileTypeLocalhost)}}, noAppArmor},
		{"AppArmor of an init container", none, false, v1.Pod{Spec: v1.PodSpec{InitContainers: ofContainer(v1.AppArmorProfileTypeRuntimeDefault)}}, noAppArmor},
		{"no AppArmor of a container", none, false, v1.Pod{Spec: v1.PodSpec{Containers: ofContainer(v1.AppArmorProfileTypeUnconfined)}}, ""},
		{"AppArmor by annotation", none, false, annotated("runtime/default"), noAppArmor},
		{"hostIP of a Service", services, false, hostIP("10.96.7.7"), `HostIPForbidden: hostIP 10.96.7.7 of the container "c" is an address of Services`},
		{"hostIP of a Service, as IPv6", services, false, hostIP("::ffff:10.96.7.7"), `HostIPForbidden: hostIP ::ffff:10.96.7.7 of the container "c" is an address of Services`},
		{"another hostIP", services, false, hostIP("192.0.2.7"), ""},
		{"hostIP, without Services", none, false, hostIP("10.96.7.7"), ""},
		{"no AppArmor by annotation", none, false, annotated("unconfined"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.on.Check(&tt.pod, Runtime{StrictGroups: tt.strictGroups}); err != nil {
				got = err.Error()
			}
			if got != tt.refused {
				t.Errorf("%q, want %q", got, tt.refused)
			}
		})
	}
}
