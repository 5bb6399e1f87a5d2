package why

import (
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// longPull examines a pull that lasts, as far as the owner of the pod says.
func longPull(v *facts) finding {
	switch {
	case v.step != StepPull || v.now.Sub(v.since) < slowPull:
		return finding{}
	case v.Manager != nil && v.Worker.Start.Step != pod.StepPull:
		return finding{}
	case v.Manager == nil && (v.position.container == nil || !view.IsPlain(v.position.container.Reason)):
		return finding{}
	}
	e := Evidence{Kind: KindPull, Subject: v.image(), Since: v.since}
	return finding{evidence: []Evidence{inContainer(v.position.container, e)}, next: commandOn("podctl pull ", v.image())}
}
