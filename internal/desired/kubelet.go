package desired

import "github.com/podctl/podctl/internal/kubelet"

// Kubelet returns the pods that a kubelet manages, as far as it answered.
func Kubelet(a kubelet.Answer) Answer {
	return Answer{Source: a.Source, Pods: a.Pods, Err: a.Err}
}
