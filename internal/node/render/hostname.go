package render

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
)

const (
	// maxHostname is the longest hostname, maxKernelName the longest that
	// the kernel stores.
	maxHostname   = 63
	maxKernelName = 64
)

// Hostname returns the pod's short hostname and its domain, "" without a
// subdomain (GeneratePodHostNameAndDomain in pkg/kubelet/kubelet_pods.go).
// hostnameOverride takes the place of both.
func Hostname(p *v1.Pod, n *Node) (name, domain string, err error) {
	if override := p.Spec.HostnameOverride; override != nil {
		if problems := validation.IsDNS1123Subdomain(*override); len(problems) > 0 {
			return "", "", fmt.Errorf("hostnameOverride %q is not a DNS subdomain: %s", *override, strings.Join(problems, "; "))
		}
		name, err = shorten(*override)
		return name, "", err
	}
	name = p.Name
	if p.Spec.Hostname != "" {
		name = p.Spec.Hostname
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return "", "", fmt.Errorf("hostname %q is not a DNS label: %s", name, strings.Join(problems, "; "))
		}
	}
	if name, err = shorten(name); err != nil {
		return "", "", err
	}
	if sub := p.Spec.Subdomain; sub != "" {
		if problems := validation.IsDNS1123Label(sub); len(problems) > 0 {
			return "", "", fmt.Errorf("subdomain %q is not a DNS label: %s", sub, strings.Join(problems, "; "))
		}
		domain = fmt.Sprintf("%s.%s.svc.%s", sub, p.Namespace, n.ClusterDomain)
	}
	return name, domain, nil
}

// shorten cuts a hostname to what Linux takes, and what the cut leaves at its
// end.
func shorten(name string) (string, error) {
	if len(name) <= maxHostname {
		return name, nil
	}
	short := strings.TrimRight(name[:maxHostname], "-.")
	if short == "" {
		return "", fmt.Errorf("hostname %q has nothing but dots and dashes", name)
	}
	return short, nil
}

// sandboxHostname returns the hostname of the sandbox config: "" on the host network,
// the FQDN with setHostnameAsFQDN (GetNodenameForKernel in pkg/kubelet/util/util.go,
// whose error text it uses).
func sandboxHostname(p *v1.Pod, n *Node) (string, error) {
	if p.Spec.HostNetwork {
		return "", nil
	}
	name, domain, err := Hostname(p, n)
	if err != nil || domain == "" || !ptr.Deref(p.Spec.SetHostnameAsFQDN, false) {
		return name, err
	}
	fqdn := name + "." + domain
	if len(fqdn) > maxKernelName {
		return "", fmt.Errorf("failed to construct FQDN from pod hostname and cluster domain, FQDN %s is too long (%d characters is the max, %d characters requested)",
			fqdn, maxKernelName, len(fqdn))
	}
	return fqdn, nil
}
