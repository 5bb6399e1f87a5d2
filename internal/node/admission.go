package node

import (
	"context"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
)

// Admission is what decides, beside the pod itself, whether a pod may start
// on this node. The zero value is a host without AppArmor on which no sysctl
// may be set.
type Admission struct {
	// Sysctls are those that pods may set.
	Sysctls Sysctls
	// AppArmor tells that the host can confine processes by it.
	AppArmor bool
}

// ReadAdmission reads what this machine allows; unsafe are the sysctls that are
// allowed beside the safe ones.
func ReadAdmission(unsafe []string) (Admission, error) {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // without it, fewer are safe
	sysctls, err := NewSysctls(strings.TrimSpace(string(kernel)), unsafe)
	if err != nil {
		return Admission{}, err
	}
	return Admission{Sysctls: sysctls, AppArmor: hasAppArmor()}, nil
}

// hasAppArmor is the test of containerd and the kubelet
// (third_party/forked/libcontainer/apparmor).
func hasAppArmor() bool {
	enabled, err := os.ReadFile("/sys/module/apparmor/parameters/enabled")
	_, mounted := os.Stat("/sys/kernel/security/apparmor")
	return err == nil && mounted == nil && len(enabled) > 0 && enabled[0] == 'Y'
}

// AdmissionError is a pod that this node does not take. It has failed, for
// good: only another manifest or other settings of podctl help.
type AdmissionError struct {
	// Reason and Message are the kubelet's: what its event says.
	Reason, Message string
	hint            string
}

func (e *AdmissionError) Error() string { return e.Reason + ": " + e.Message }

// Hint tells the way out, "" if there is none to tell.
func (e *AdmissionError) Hint() string { return e.hint }

// status is that of a rejected pod (rejectPod in pkg/kubelet/kubelet.go).
func (e *AdmissionError) status() v1.PodStatus {
	return v1.PodStatus{Phase: v1.PodFailed, Reason: e.Reason, Message: "Pod was rejected: " + e.Message}
}

// admit says why the pod may not start, nil if it may: the checks of the
// kubelet that do not depend on other pods, in its order
// (pkg/kubelet/lifecycle, pkg/security/apparmor). strictGroups tells that the
// runtime honours supplementalGroupsPolicy.
func (a Admission) admit(p *v1.Pod, strictGroups bool) *AdmissionError {
	if err := a.Sysctls.admit(p); err != nil {
		return err
	}
	if f := preempt.Forbidden(p, place(nil, strictGroups)); f != nil {
		return &AdmissionError{Reason: f.Reason(), Message: f.Message()}
	}
	if wantsAppArmor(p) && !a.AppArmor {
		return &AdmissionError{Reason: "AppArmor", Message: "Cannot enforce AppArmor: AppArmor is not enabled on the host"}
	}
	return nil
}

func wantsStrictGroups(p *v1.Pod) bool {
	sc := p.Spec.SecurityContext
	return sc != nil && sc.SupplementalGroupsPolicy != nil && *sc.SupplementalGroupsPolicy == v1.SupplementalGroupsPolicyStrict
}

// wantsAppArmor tells whether anything in the pod is to be confined; an
// annotation of a container counts as its field does (isRequired in
// pkg/security/apparmor/helpers.go).
func wantsAppArmor(p *v1.Pod) bool {
	confines := func(profile *v1.AppArmorProfile) bool {
		return profile != nil && profile.Type != v1.AppArmorProfileTypeUnconfined
	}
	if sc := p.Spec.SecurityContext; sc != nil && confines(sc.AppArmorProfile) {
		return true
	}
	for c := range pod.Containers(p) {
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

// admission says why a new pod may not start. The runtime is asked for its
// features only where the pod needs one; if it does not answer, the error is
// no AdmissionError, and the pod waits.
func (n *Node) admission(ctx context.Context, p *v1.Pod) error {
	strictGroups := false
	if wantsStrictGroups(p) {
		status, err := n.rt.Status(ctx)
		if err != nil {
			return err
		}
		strictGroups = status.SupplementalGroupsPolicy
	}
	if err := n.opts.Admission.admit(p, strictGroups); err != nil {
		return err
	}
	if err := n.refuseImageVolumes(p); err != nil {
		return err
	}
	if err := n.refuseStopSignals(p); err != nil {
		return err
	}
	refused, err := n.refuseClass(ctx, p)
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return err
	}
	now, err := n.fit(ctx, p)
	if err == nil && !now {
		err = errNotNow
	}
	return err
}
