package admission

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// podWith is a pod that sets the sysctls, each to 1.
func podWith(edit func(*v1.PodSpec), names ...string) *v1.Pod {
	p := &v1.Pod{Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{}}}
	for _, name := range names {
		p.Spec.SecurityContext.Sysctls = append(p.Spec.SecurityContext.Sysctls, v1.Sysctl{Name: name, Value: "1"})
	}
	if edit != nil {
		edit(&p.Spec)
	}
	return p
}

func TestSafeAndAllowedSysctls(t *testing.T) {
	hostNetwork := func(s *v1.PodSpec) { s.HostNetwork = true }
	hostIPC := func(s *v1.PodSpec) { s.HostIPC = true }
	ownUsers := func(s *v1.PodSpec) { s.HostUsers = new(bool) }
	tests := []struct {
		name   string
		kernel string
		unsafe []string
		pod    *v1.Pod
		// refused is the message, "" where the pod is admitted.
		refused string
	}{
		{"none", "", nil, &v1.Pod{}, ""},
		{"safe", "", nil, podWith(nil, "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
			"net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"), ""},
		{"safe on a new kernel", "6.1.0-13-amd64", nil, podWith(nil, "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
			"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
			"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"), ""},
		{"not safe before 4.15", "4.14.1", nil, podWith(nil, "net.ipv4.tcp_rmem"), `forbidden sysctl: "net.ipv4.tcp_rmem" not allowlisted`},
		{"safe since 4.15", "4.15", nil, podWith(nil, "net.ipv4.tcp_rmem"), ""},
		{"not safe before 4.6", "4.5.9", nil, podWith(nil, "net.ipv4.tcp_fin_timeout"), `forbidden sysctl: "net.ipv4.tcp_fin_timeout" not allowlisted`},
		{"not safe before 4.5", "4.4", nil, podWith(nil, "net.ipv4.tcp_keepalive_time"), `forbidden sysctl: "net.ipv4.tcp_keepalive_time" not allowlisted`},
		{"not safe before 3.16", "3.15.2", nil, podWith(nil, "net.ipv4.ip_local_reserved_ports"), `forbidden sysctl: "net.ipv4.ip_local_reserved_ports" not allowlisted`},
		{"kernel unknown", "", nil, podWith(nil, "net.ipv4.tcp_keepalive_time"), `forbidden sysctl: "net.ipv4.tcp_keepalive_time" not allowlisted`},
		{"slashes", "", nil, podWith(nil, "net/ipv4/tcp_syncookies"), ""},
		{"unsafe", "6.1", nil, podWith(nil, "net.ipv4.tcp_syncookies", "kernel.msgmax"), `forbidden sysctl: "kernel.msgmax" not allowlisted`},
		{"unsafe and allowed", "6.1", []string{"kernel.msgmax"}, podWith(nil, "kernel.msgmax"), ""},
		{"allowed by its beginning", "6.1", []string{"net.core.*"}, podWith(nil, "net.core.somaxconn"), ""},
		{"allowed with slashes", "6.1", []string{"net/core/somaxconn"}, podWith(nil, "net.core.somaxconn"), ""},
		{"not allowed by its beginning", "6.1", []string{"net.core.s*"}, podWith(nil, "net.core.rmem_max"), `forbidden sysctl: "net.core.rmem_max" not allowlisted`},
		{"of the node's network", "6.1", nil, podWith(hostNetwork, "net.ipv4.tcp_syncookies"), `forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled`},
		{"of the node's network, by its beginning", "6.1", []string{"net.*"}, podWith(hostNetwork, "net.core.somaxconn"), `forbidden sysctl: "net.core.somaxconn" not allowed with host Net enabled`},
		{"of the node's IPC", "6.1", nil, podWith(hostIPC, "kernel.shm_rmid_forced"), `forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled`},
		{"of the node's IPC, by its beginning", "6.1", []string{"kernel.msg*"}, podWith(hostIPC, "kernel.msgmni"), `forbidden sysctl: "kernel.msgmni" not allowed with host IPC enabled`},
		{"of the node's users", "6.1", []string{"user.*"}, podWith(nil, "user.max_user_namespaces"), `forbidden sysctl: "user.max_user_namespaces" not allowed with host User enabled`},
		{"of the pod's users", "6.1", []string{"user.*"}, podWith(ownUsers, "user.max_user_namespaces"), ""},
		{"of another namespace than the node's", "6.1", nil, podWith(hostIPC, "net.ipv4.tcp_syncookies"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := NewSysctls(tt.kernel, tt.unsafe)
			if err != nil {
				t.Fatal(err)
			}
			refused := s.check(tt.pod)
			switch {
			case tt.refused == "" && refused != nil:
				t.Errorf("refused: %v", refused)
			case tt.refused != "" && (refused == nil || refused.Message != tt.refused || refused.Reason != "SysctlForbidden"):
				t.Errorf("%v, want %q", refused, tt.refused)
			}
		})
	}
}

func TestUnnamespacedSysctlsAreRejected(t *testing.T) {
	for pattern, why := range map[string]string{
		"":                                "neither",
		"Net.core":                        "neither",
		"net.*.x":                         "neither",
		"net..x":                          "neither",
		strings.Repeat("net.", 64):        "neither",
		"net." + strings.Repeat("x", 250): "neither",
		"vm.swappiness":                   "namespaced",
		"kernel.*":                        "namespaced",
		"*":                               "namespaced",
	} {
		if _, err := NewSysctls("6.1", []string{pattern}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: error %v, want %q", pattern, err, why)
		}
	}
}

func TestForbiddenSysctlHint(t *testing.T) {
	s, err := NewSysctls("6.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pod  *v1.Pod
		hint string
	}{
		{podWith(nil, "kernel.msgmax"), "allow it if you trust the pod: --allowed-unsafe-sysctls kernel.msgmax"},
		{podWith(nil, "vm.swappiness"), ""},
		{podWith(func(s *v1.PodSpec) { s.HostNetwork = true }, "net.ipv4.tcp_syncookies"), ""},
	} {
		if got := s.check(c.pod).Hint(); got != c.hint {
			t.Errorf("hint %q, want %q", got, c.hint)
		}
	}
}
