package sources

import "github.com/podctl/podctl/internal/owners/kubelet"

// Kubelet returns a kubelet's answer as that of a source. It does not say whether it is
// complete.
func Kubelet(a kubelet.Answer) Answer {
	return Answer{Source: a.Source, Pods: a.Pods, Err: a.Err}
}
