package admission

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/node/util/sysctl"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// Sysctls are the kernel parameters that pods may set. The zero value allows
// none (patternAllowlist in pkg/kubelet/sysctl/allowlist.go).
type Sysctls struct {
	names, prefixes map[string]sysctl.Namespace
}

// safeSysctls are those that are isolated between pods, with the first kernel
// that has them per namespace, "" for every kernel
// (pkg/kubelet/sysctl/safe_sysctls.go, pkg/util/kernel/constants.go).
var safeSysctls = []struct{ name, kernel string }{
	{"kernel.shm_rmid_forced", ""},
	{"net.ipv4.ip_local_port_range", ""},
	{"net.ipv4.tcp_syncookies", ""},
	{"net.ipv4.ping_group_range", ""},
	{"net.ipv4.ip_unprivileged_port_start", ""},
	{"net.ipv4.ip_local_reserved_ports", "3.16"},
	{"net.ipv4.tcp_keepalive_time", "4.5"},
	{"net.ipv4.tcp_fin_timeout", "4.6"},
	{"net.ipv4.tcp_keepalive_intvl", "4.5"},
	{"net.ipv4.tcp_keepalive_probes", "4.5"},
	{"net.ipv4.tcp_rmem", "4.15"},
	{"net.ipv4.tcp_wmem", "4.15"},
	{"net.ipv4.tcp_slow_start_after_idle", "4.15"},
	{"net.ipv4.tcp_notsent_lowat", "4.6"},
}

// sysctlPattern is a sysctl's name with dots or slashes, or a prefix of one
// followed by a star (pkg/apis/policy/validation/validation.go).
var sysctlPattern = lazyregexp.New(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$`)

// maxSysctl is the longest name (pkg/apis/core/validation/validation.go).
const maxSysctl = 253

// NewSysctls allows what is safe on a kernel of the given release ("6.1.0-13",
// "" if it is not known), and the unsafe ones, which may end in a star.
func NewSysctls(kernel string, unsafe []string) (Sysctls, error) {
	s := Sysctls{names: map[string]sysctl.Namespace{}, prefixes: map[string]sysctl.Namespace{}}
	running, _ := version.ParseGeneric(kernel) // nil if it is not known
	for _, safe := range safeSysctls {
		if safe.kernel != "" && (running == nil || !running.AtLeast(version.MustParseGeneric(safe.kernel))) {
			continue
		}
		if err := s.allow(safe.name); err != nil {
			return Sysctls{}, err
		}
	}
	for _, pattern := range unsafe {
		if err := s.allow(pattern); err != nil {
			return Sysctls{}, err
		}
	}
	return s, nil
}

func (s Sysctls) allow(pattern string) error {
	if len(pattern) > maxSysctl || !sysctlPattern().MatchString(pattern) {
		return fmt.Errorf("allow sysctl %q: neither the name of a sysctl nor a prefix of one followed by *", pattern)
	}
	namespace, name, prefix := sysctl.GetNamespace(pattern)
	if namespace == sysctl.UnknownNamespace {
		return fmt.Errorf("allow sysctl %q: not known to be namespaced by the kernel", pattern)
	}
	if prefix {
		s.prefixes[name] = namespace
	} else {
		s.names[name] = namespace
	}
	return nil
}

// checkOne returns why a pod may not set a sysctl, nil if it may.
func (s Sysctls) checkOne(name string, p *v1.Pod) error {
	name = sysctl.NormalizeName(name)
	namespace, ok := s.names[name]
	for prefix, of := range s.prefixes {
		if !ok && strings.HasPrefix(name, prefix) {
			namespace, ok = of, true
		}
	}
	switch {
	case !ok:
		return fmt.Errorf("%q not allowlisted", name)
	case namespace == sysctl.IPCNamespace && p.Spec.HostIPC, namespace == sysctl.NetNamespace && p.Spec.HostNetwork,
		namespace == sysctl.UserNamespace && (p.Spec.HostUsers == nil || *p.Spec.HostUsers):
		return fmt.Errorf("%q not allowed with host %s enabled", name, namespace)
	}
	return nil
}

// check returns the first sysctl of the pod that it may not set, nil if there is
// none.
func (s Sysctls) check(p *v1.Pod) *Error {
	if p.Spec.SecurityContext == nil {
		return nil
	}
	for _, set := range p.Spec.SecurityContext.Sysctls {
		if err := s.checkOne(set.Name, p); err != nil {
			return &Error{Reason: "SysctlForbidden", Message: fmt.Sprintf("forbidden sysctl: %v", err), hint: s.hint(set.Name)}
		}
	}
	return nil
}

// hint returns how to allow a sysctl that is namespaced, "" for any other.
func (s Sysctls) hint(name string) string {
	name = sysctl.NormalizeName(name)
	err := s.checkOne(name, &v1.Pod{Spec: v1.PodSpec{HostUsers: new(bool)}})
	if namespace, _, _ := sysctl.GetNamespace(name); err == nil || namespace == sysctl.UnknownNamespace {
		return ""
	}
	return "allow it if you trust the pod: --allowed-unsafe-sysctls " + name
}
