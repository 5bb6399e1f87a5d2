package admission

import (
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/preempt"
)

// Policy is what decides, beside the pod and the runtime, whether a pod may
// run on this node. The zero value is a host without AppArmor on which no
// sysctl may be set.
type Policy struct {
	// Sysctls are those that pods may set.
	Sysctls Sysctls
	// AppArmor: the host can confine processes with AppArmor.
	AppArmor bool
}

// ReadPolicy reads what this machine allows; unsafe are the sysctls that are
// allowed beside the safe ones.
func ReadPolicy(unsafe []string) (Policy, error) {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // without it, fewer are safe
	sysctls, err := NewSysctls(strings.TrimSpace(string(kernel)), unsafe)
	if err != nil {
		return Policy{}, err
	}
	return Policy{Sysctls: sysctls, AppArmor: hasAppArmor()}, nil
}

// Check returns why the pod may not run here, nil if it may: every check that
// does not depend on other pods (pkg/kubelet/lifecycle, pkg/security/apparmor).
func (a Policy) Check(p *v1.Pod, rt Runtime) *Error {
	if err := a.Sysctls.check(p); err != nil {
		return err
	}
	if f := preempt.Forbidden(p, place(nil, rt.StrictGroups)); f != nil {
		return &Error{Reason: f.Reason(), Message: f.Message()}
	}
	if wantsAppArmor(p) && !a.AppArmor {
		return &Error{Reason: "AppArmor", Message: "Cannot enforce AppArmor: AppArmor is not enabled on the host"}
	}
	return rt.check(p)
}
