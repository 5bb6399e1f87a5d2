package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// This file checks the values that the API server does not look at. What nothing behind it
// knows either is a problem where the pod would run less confined, or not at all, and a
// warning where a kubelet runs the pod without it. docs/manifest.md has the table.

// eachContainer calls visit with each container of the pod and its field.
func eachContainer(p *v1.Pod, visit func(at string, c *v1.Container)) {
	for i := range p.Spec.InitContainers {
		visit(fmt.Sprintf("spec.initContainers[%d]", i), &p.Spec.InitContainers[i])
	}
	for i := range p.Spec.Containers {
		visit(fmt.Sprintf("spec.containers[%d]", i), &p.Spec.Containers[i])
	}
	for i := range p.Spec.EphemeralContainers {
		c := v1.Container(p.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		visit(fmt.Sprintf("spec.ephemeralContainers[%d]", i), &c)
	}
}

// reporter takes a problem or a warning about a field.
type reporter func(field, message, hint string)

func checkFreeValues(p *v1.Pod, problem, warning reporter) {
	for i := range p.Spec.Volumes {
		v, at := &p.Spec.Volumes[i], fmt.Sprintf("spec.volumes[%d]", i)
		switch {
		case v.HostPath != nil:
			checkHostPath(at+".hostPath.path", v.HostPath.Path, problem)
		case v.EmptyDir != nil:
			checkMedium(at+".emptyDir.medium", v.EmptyDir.Medium, problem)
		case v.Image != nil:
			checkImage(at+".image.reference", v.Image.Reference, problem)
		}
	}
	eachContainer(p, func(at string, c *v1.Container) {
		checkImage(at+".image", c.Image, problem)
		if sc := c.SecurityContext; sc != nil && sc.Capabilities != nil {
			checkCapabilities(at+".securityContext.capabilities.add", sc.Capabilities.Add, problem)
			checkCapabilities(at+".securityContext.capabilities.drop", sc.Capabilities.Drop, problem)
		}
		checkPortNames(at, c, warning)
	})
	if dns := p.Spec.DNSConfig; dns != nil {
		for i, o := range dns.Options {
			name, _, _ := strings.Cut(o.Name, ":")
			if near := suggest.Word(strings.ToLower(name), resolverOptions); !slices.Contains(resolverOptions, name) {
				warning(fmt.Sprintf("spec.dnsConfig.options[%d].name", i), fmt.Sprintf("%q is no option that a resolver knows: it has no effect", o.Name), didYouMeanWord(near))
			}
		}
	}
}

func didYouMeanWord(near string) string {
	if near == "" {
		return ""
	}
	return "did you mean " + near + "?"
}

// capabilityNames are those of Linux (capabilities(7)) as Kubernetes names them.
var capabilityNames = strings.Fields(`ALL AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE DAC_READ_SEARCH
	FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN NET_BIND_SERVICE NET_BROADCAST NET_RAW
	PERFMON SETFCAP SETGID SETPCAP SETUID SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME
	SYS_TTY_CONFIG SYSLOG WAKE_ALARM`)

// checkCapabilities reports names that are no capability's: containerd writes CAP_ before
// each, in capitals, and runc passes over what the kernel does not have.
func checkCapabilities(field string, names []v1.Capability, problem reporter) {
	for i, name := range names {
		upper := strings.ToUpper(string(name))
		if slices.Contains(capabilityNames, upper) {
			continue
		}
		bare := strings.TrimPrefix(strings.TrimSpace(upper), "CAP_")
		hint := "Kubernetes names them as capabilities(7) does, without CAP_: NET_BIND_SERVICE; or ALL"
		if slices.Contains(capabilityNames, bare) {
			hint = "write " + bare
		} else if near := suggest.Word(bare, capabilityNames); near != "" {
			hint = didYouMeanWord(near)
		}
		problem(fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("Invalid value: %q: not a capability: runtimes pass it over without a word", name), hint)
	}
}

// checkMedium reports a medium for which a kubelet sets up no volume
// (setUpDir in pkg/volume/emptydir/empty_dir.go).
func checkMedium(field string, m v1.StorageMedium, problem reporter) {
	known := []string{string(v1.StorageMediumMemory), string(v1.StorageMediumHugePages)}
	size, paged := strings.CutPrefix(string(m), string(v1.StorageMediumHugePagesPrefix))
	if _, err := resource.ParseQuantity(size); m == "" || slices.Contains(known, string(m)) || paged && err == nil && isBoundedQuantity([]byte(size)) {
		return
	}
	hint := "leave it out for the disk"
	for _, k := range known {
		if strings.EqualFold(k, string(m)) || suggest.Word(string(m), []string{k}) != "" {
			hint = didYouMeanWord(k)
		}
	}
	problem(field, fmt.Sprintf("Unsupported value: %q: supported values: \"Memory\", \"HugePages\", \"HugePages-2Mi\" and other sizes", m), hint)
}

// checkImage reports a name that no runtime is asked for: InvalidImageName.
func checkImage(field, image string, problem reporter) {
	if image == "" || strings.TrimSpace(image) != image {
		return // a problem already
	}
	if hint := templateHint(image); hint != "" {
		problem(field, fmt.Sprintf("Invalid value: %q: a template that was not filled in", image), hint)
	} else if _, err := pod.WithTag(image); err != nil {
		hint := "an image is [REGISTRY/]NAME[:TAG][@DIGEST], the name in lower case"
		switch {
		case unexpectedInvisible(image) != "":
			hint = invisibleHint
		case strings.Contains(image, "://"):
			hint = "leave out the scheme: " + hint
		}
		problem(field, fmt.Sprintf("Invalid value: %v", err), hint)
	}
}

// checkPortNames reports ports of probes and hooks that the container does not have: a
// kubelet makes no such probe, and the hook fails (ResolveContainerPort in
// pkg/probe/util.go).
func checkPortNames(at string, c *v1.Container, warning reporter) {
	var names []string
	for _, p := range c.Ports {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	check := func(field string, port intstr.IntOrString, effect string) {
		if port.Type != intstr.String || slices.Contains(names, port.StrVal) {
			return
		}
		hint := "name a port in ports, or write its number"
		if len(names) > 0 {
			hint = "it has " + strings.Join(names[:min(len(names), maxNamed)], ", ")
		}
		warning(at+"."+field+".port", fmt.Sprintf("the container has no port %q: %s", port.StrVal, effect), hint)
	}
	handler := func(field string, get *v1.HTTPGetAction, tcp *v1.TCPSocketAction, effect string) {
		if get != nil {
			check(field+".httpGet", get.Port, effect)
		}
		if tcp != nil {
			check(field+".tcpSocket", tcp.Port, effect)
		}
	}
	probes := map[string]*v1.Probe{"livenessProbe": c.LivenessProbe, "readinessProbe": c.ReadinessProbe, "startupProbe": c.StartupProbe}
	for _, field := range slices.Sorted(maps.Keys(probes)) {
		if p := probes[field]; p != nil {
			handler(field, p.HTTPGet, p.TCPSocket, "the probe is never made")
		}
	}
	if l := c.Lifecycle; l != nil {
		for field, h := range map[string]*v1.LifecycleHandler{"lifecycle.postStart": l.PostStart, "lifecycle.preStop": l.PreStop} {
			if h != nil {
				handler(field, h.HTTPGet, h.TCPSocket, "the hook fails")
			}
		}
	}
}

// resolverOptions are the options of resolv.conf(5), and those of musl and c-ares. Resolvers
// pass over others.
var resolverOptions = strings.Fields(`attempts debug edns0 inet6 ip6-bytestring ip6-dotint ndots no-aaaa no-check-names no-ip6-dotint no-reload
	no-tld-query retrans retry rotate single-request single-request-reopen timeout trust-ad use-vc`)

// checkHostPath reports a path of the host that is not absolute: a kubelet hands it to the
// runtime as it is, which refuses it or looks below a directory of its own.
func checkHostPath(field, path string, report reporter) {
	if path == "" || strings.HasPrefix(path, "/") {
		return // empty: a problem already
	}
	hint := "a path is not relative to the manifest: write all of it, from /"
	switch {
	case strings.HasPrefix(path, "~"):
		hint = "no shell replaces the ~: write the whole path, from /"
	case strings.HasPrefix(path, "$"):
		hint = "no variable is replaced in a manifest: write the whole path, from /"
	case templateHint(path) != "":
		hint = templateHint(path)
	}
	report(field, fmt.Sprintf("Invalid value: %q: must be an absolute path", path), hint)
}

// deviceAnnotations begin the annotations that give a pod devices of CDI
// specifications, which are separated by commas.
const deviceAnnotations = "cdi.k8s.io/"

// checkDevices reports annotations for devices that name none: the runtime would
// refuse each of the pod's containers. Whether a device exists is known when the pod
// starts.
func checkDevices(p *v1.Pod, report func(field, message, hint string)) {
	for _, key := range slices.Sorted(maps.Keys(p.Annotations)) {
		if !strings.HasPrefix(key, deviceAnnotations) {
			continue
		}
		for device := range strings.SplitSeq(p.Annotations[key], ",") {
			kind, name, named := strings.Cut(device, "=")
			vendor, class, ok := strings.Cut(kind, "/")
			if !named || !ok || vendor == "" || class == "" || name == "" {
				report("metadata.annotations["+key+"]", fmt.Sprintf("Invalid value: %q: a device is VENDOR/CLASS=NAME", device), "write vendor.com/class=name, or several with commas between them")
			}
		}
	}
}
