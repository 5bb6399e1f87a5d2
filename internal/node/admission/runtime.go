package admission

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
)

// Runtime is what the runtime can do, as far as pods ask for it.
type Runtime struct {
	// Name is its name and version: "containerd 2.1.4".
	Name string
	// ImageVolumes, StopSignals, StrictGroups: it mounts images as volumes, stops
	// containers with the signal of their spec, honours
	// supplementalGroupsPolicy.
	ImageVolumes, StopSignals, StrictGroups bool
	// Handlers are the names of its runtime handlers; nil if it does not list
	// them, and then CheckClass accepts any name.
	Handlers []string
	// Classes maps runtime classes to handlers.
	Classes RuntimeClasses
}

// NeedsStatus reports whether Check needs what only the runtime's status shows:
// StrictGroups.
func NeedsStatus(p *v1.Pod) bool {
	sc := p.Spec.SecurityContext
	return sc != nil && sc.SupplementalGroupsPolicy != nil && *sc.SupplementalGroupsPolicy == v1.SupplementalGroupsPolicyStrict
}

// RuntimeClasses maps names of runtime classes to handlers of the runtime; the
// handler of any other class is its name. There are no RuntimeClass objects here
// (LookupRuntimeHandler in pkg/kubelet/runtimeclass/runtimeclass_manager.go).
type RuntimeClasses map[string]string

// Handler returns the runtime handler of the pod, "" for the default one.
func (c RuntimeClasses) Handler(p *v1.Pod) string {
	class := p.Spec.RuntimeClassName
	if class == nil {
		return ""
	}
	if handler, mapped := c[*class]; mapped {
		return handler
	}
	return *class
}

// check returns what the pod asks for that the runtime cannot do. A handler that
// the runtime lacks is not checked: the runtime refuses the sandbox, and the pod
// waits until the handler is there.
func (r Runtime) check(p *v1.Pod) *Error {
	if err := r.checkImageVolumes(p); err != nil {
		return err
	}
	return r.checkStopSignals(p)
}

func (r Runtime) checkImageVolumes(p *v1.Pod) *Error {
	if r.ImageVolumes {
		return nil
	}
	for _, v := range p.Spec.Volumes {
		if v.Image != nil {
			return &Error{Reason: "ImageVolumeNotSupported",
				Message: fmt.Sprintf("volume %q is an image, which %s cannot mount", v.Name, r.Name),
				hint:    "containerd can from 2.1 on, CRI-O from 1.31 on"}
		}
	}
	return nil
}

func (r Runtime) checkStopSignals(p *v1.Pod) *Error {
	if r.StopSignals {
		return nil
	}
	for c := range pod.Containers(p) {
		if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
			return &Error{Reason: "StopSignalNotSupported",
				Message: fmt.Sprintf("container %q has the stop signal %s, which %s does not support", c.Name, *c.Lifecycle.StopSignal, r.Name),
				hint:    "upgrade to containerd 2.4 or CRI-O 1.34, or set STOPSIGNAL in the image"}
		}
	}
	return nil
}

// CheckClass returns why the pod's runtime class cannot be had, nil if it can.
func (r Runtime) CheckClass(p *v1.Pod) *Error {
	handler := r.Classes.Handler(p)
	if handler == "" || r.Handlers == nil || slices.Contains(r.Handlers, handler) {
		return nil
	}
	names := slices.DeleteFunc(slices.Clone(r.Handlers), func(name string) bool { return name == "" })
	class := *p.Spec.RuntimeClassName
	message := fmt.Sprintf("runtime class %q: the runtime has no handler of that name", class)
	if class != handler {
		message = fmt.Sprintf("runtime class %q: the runtime has no handler %q", class, handler)
	}
	return &Error{Reason: "RuntimeClassNotFound", Message: message,
		hint: fmt.Sprintf("it has %s; --runtime-class %s=HANDLER chooses one", strings.Join(names, ", "), class)}
}

// Policy is what decides, beside the pod and the runtime, whether a pod may
// run on this node. The zero value is a host without AppArmor on which no
// sysctl may be set.
type Policy struct {
	// Sysctls are those that pods may set.
	Sysctls Sysctls
	// AppArmor: the host can confine processes with AppArmor.
	AppArmor bool
	// Services are the addresses of Services and of their DNS server, which no hostIP may take; none where they are not served.
	Services []netip.Prefix
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
	for c := range pod.AllContainers(p) {
		for _, port := range c.Ports {
			addr, err := netip.ParseAddr(port.HostIP)
			if err == nil && !p.Spec.HostNetwork && slices.ContainsFunc(a.Services, func(in netip.Prefix) bool { return in.Contains(addr.Unmap()) }) {
				return &Error{Reason: "HostIPForbidden", Message: fmt.Sprintf("hostIP %s of the container %q is an address of Services", port.HostIP, c.Name)}
			}
		}
	}
	if wantsAppArmor(p) && !a.AppArmor {
		return &Error{Reason: "AppArmor", Message: "Cannot enforce AppArmor: AppArmor is not enabled on the host"}
	}
	return rt.check(p)
}

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
