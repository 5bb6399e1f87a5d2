package render

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/podctl/podctl/internal/pod"
)

// effective returns a container's security context with the pod's where the
// container says nothing (DetermineEffectiveSecurityContext in
// pkg/securitycontext/util.go). The zero value asks for nothing.
func effective(p *v1.Pod, c *v1.Container) v1.SecurityContext {
	var sc v1.SecurityContext
	if c.SecurityContext != nil {
		sc = *c.SecurityContext
	}
	ofPod := podSecurityContext(p)
	sc.SELinuxOptions = cmp.Or(sc.SELinuxOptions, ofPod.SELinuxOptions)
	sc.RunAsUser = cmp.Or(sc.RunAsUser, ofPod.RunAsUser)
	sc.RunAsGroup = cmp.Or(sc.RunAsGroup, ofPod.RunAsGroup)
	sc.RunAsNonRoot = cmp.Or(sc.RunAsNonRoot, ofPod.RunAsNonRoot)
	sc.SeccompProfile = cmp.Or(sc.SeccompProfile, ofPod.SeccompProfile)
	sc.AppArmorProfile = cmp.Or(sc.AppArmorProfile, appArmorAnnotation(p, c.Name), ofPod.AppArmorProfile)
	return sc
}

func podSecurityContext(p *v1.Pod) *v1.PodSecurityContext {
	return cmp.Or(p.Spec.SecurityContext, &v1.PodSecurityContext{})
}

// containerSecurity returns the security context of one container
// (determineEffectiveSecurityContext in pkg/kubelet/kuberuntime/security_context.go).
func containerSecurity(p *v1.Pod, c *v1.Container, in ContainerInput) (*runtimeapi.LinuxContainerSecurityContext, error) {
	sc := effective(p, c)
	if err := checkNonRoot(p, c, sc, in.Image); err != nil {
		return nil, err
	}
	seccomp, err := seccompProfile(sc.SeccompProfile, in.Node.SeccompDir)
	if err != nil {
		return nil, err
	}
	apparmor, apparmorName, err := appArmorProfile(sc.AppArmorProfile)
	if err != nil {
		return nil, err
	}
	namespaces, err := namespaceOptions(p, in.UserNamespace)
	if err != nil {
		return nil, err
	}
	if in.Target != "" && namespaces.Pid == runtimeapi.NamespaceMode_CONTAINER {
		namespaces.Pid, namespaces.TargetId = runtimeapi.NamespaceMode_TARGET, in.Target
	}
	groups, policy, err := supplementalGroups(podSecurityContext(p))
	if err != nil {
		return nil, err
	}
	out := &runtimeapi.LinuxContainerSecurityContext{
		Capabilities:             capabilities(sc.Capabilities),
		Privileged:               ptr.Deref(sc.Privileged, false),
		NamespaceOptions:         namespaces,
		SelinuxOptions:           selinuxOption(sc.SELinuxOptions),
		RunAsUser:                int64Value(sc.RunAsUser),
		RunAsGroup:               int64Value(sc.RunAsGroup),
		ReadonlyRootfs:           ptr.Deref(sc.ReadOnlyRootFilesystem, false),
		SupplementalGroups:       groups,
		SupplementalGroupsPolicy: policy,
		NoNewPrivs:               sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation,
		Seccomp:                  seccomp,
		Apparmor:                 apparmor,
		ApparmorProfile:          apparmorName, //nolint:staticcheck // as the kubelet: runtimes that do not know Apparmor read it
	}
	if out.RunAsUser == nil {
		uid, name := imageUser(in.Image)
		out.RunAsUser, out.RunAsUsername = int64Value(uid), name
	}
	if sc.ProcMount == nil || *sc.ProcMount != v1.UnmaskedProcMount {
		out.MaskedPaths = append(append([]string{}, maskedPaths...), in.Node.ThermalThrottle...)
		out.ReadonlyPaths = readonlyPaths
	}
	return out, nil
}

// The parts of /proc and /sys that a container does not see, or cannot write
// (pkg/securitycontext/util.go).
var (
	maskedPaths = []string{
		"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
		"/sys/firmware", "/sys/devices/virtual/powercap",
	}
	readonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// supplementalGroups returns the groups of every process of the pod: fsGroup
// first.
func supplementalGroups(sc *v1.PodSecurityContext) ([]int64, runtimeapi.SupplementalGroupsPolicy, error) {
	var groups []int64
	if sc.FSGroup != nil {
		groups = append(groups, *sc.FSGroup)
	}
	groups = append(groups, sc.SupplementalGroups...)
	if sc.SupplementalGroupsPolicy == nil {
		return groups, runtimeapi.SupplementalGroupsPolicy_Merge, nil
	}
	policy, ok := runtimeapi.SupplementalGroupsPolicy_value[string(*sc.SupplementalGroupsPolicy)]
	if !ok {
		return nil, 0, fmt.Errorf("supplementalGroupsPolicy %q is neither Merge nor Strict", *sc.SupplementalGroupsPolicy)
	}
	return groups, runtimeapi.SupplementalGroupsPolicy(policy), nil
}

// anyPrivileged reports whether any container of the pod is privileged.
func anyPrivileged(p *v1.Pod) bool {
	for c := range pod.AllContainers(p) {
		if sc := c.SecurityContext; sc != nil && ptr.Deref(sc.Privileged, false) {
			return true
		}
	}
	return false
}

func capabilities(c *v1.Capabilities) *runtimeapi.Capability {
	if c == nil {
		return nil
	}
	out := &runtimeapi.Capability{}
	for _, name := range c.Add {
		out.AddCapabilities = append(out.AddCapabilities, string(name))
	}
	for _, name := range c.Drop {
		out.DropCapabilities = append(out.DropCapabilities, string(name))
	}
	return out
}

func selinuxOption(o *v1.SELinuxOptions) *runtimeapi.SELinuxOption {
	if o == nil {
		return nil
	}
	return &runtimeapi.SELinuxOption{User: o.User, Role: o.Role, Type: o.Type, Level: o.Level}
}

func int64Value(v *int64) *runtimeapi.Int64Value {
	if v == nil {
		return nil
	}
	return &runtimeapi.Int64Value{Value: *v}
}

// imageUser returns the user of the image (getImageUser in
// pkg/kubelet/kuberuntime/helpers.go).
func imageUser(i pod.Image) (uid *int64, name string) {
	if i.UID == nil && i.Username == "" {
		return new(int64), ""
	}
	if i.UID != nil {
		return i.UID, ""
	}
	return nil, i.Username
}

// checkNonRoot refuses root where runAsNonRoot is set. A user that the image
// gives by name might be anyone, and is refused too
// (pkg/kubelet/kuberuntime/security_context_others.go).
func checkNonRoot(p *v1.Pod, c *v1.Container, sc v1.SecurityContext, image pod.Image) error {
	if !ptr.Deref(sc.RunAsNonRoot, false) {
		return nil
	}
	where := fmt.Sprintf("(pod: \"%s_%s(%s)\", container: %s)", p.Name, p.Namespace, p.UID, c.Name)
	if sc.RunAsUser != nil {
		if *sc.RunAsUser == 0 {
			return fmt.Errorf("container's runAsUser breaks non-root policy %s", where)
		}
		return nil
	}
	uid, name := imageUser(image)
	switch {
	case uid == nil:
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root %s", name, where)
	case *uid == 0:
		return fmt.Errorf("container has runAsNonRoot and image will run as root %s", where)
	case len(validation.IsValidUserID(*uid)) > 0:
		return fmt.Errorf("container has runAsNonRoot and image has an invalid user id (%d) %s", *uid, where)
	}
	return nil
}
