package node

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// refuseStopSignals is why the pod's stop signals cannot be had, nil if they
// can or it has none.
func (n *Node) refuseStopSignals(p *v1.Pod) *AdmissionError {
	if !n.opts.Facts.StopSignals || n.version.StopSignals() {
		return nil
	}
	for c := range pod.Containers(p) {
		if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
			return &AdmissionError{Reason: "StopSignalNotSupported",
				Message: fmt.Sprintf("container %q is to be stopped with %s, which %s does not heed", c.Name, *c.Lifecycle.StopSignal, n.version),
				hint:    "containerd does from 2.4 on, CRI-O from 1.34 on; or STOPSIGNAL in the image"}
		}
	}
	return nil
}
