package why

import (
	"fmt"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

func stalledPull(v *facts) finding {
	for _, p := range v.Pulls {
		if p.Measured > 0 && p.Rate == 0 && !p.Unpacks && v.now.Sub(p.Since) > slowPull {
			return finding{evidence: []Evidence{pullEvidence(&p)}, next: commandOn("podctl pull ", p.Image)}
		}
	}
	if p := v.Unnamed; p != nil && v.isPulling() && p.Measured > 0 && p.Rate == 0 {
		return finding{evidence: []Evidence{pullEvidence(p)}, next: commandOn("podctl pull ", p.Image)}
	}
	return finding{}
}

// isPulling reports whether an image of the pod has been pulled for a while, as far as its owner
// says.
func (v *facts) isPulling() bool {
	if v.step != StepPull || v.now.Sub(v.since) < slowPull {
		return false
	}
	if v.Manager != nil {
		return v.Worker.Start.Step == pod.StepPull
	}
	return v.position.container != nil && view.IsPlain(v.position.container.Reason)
}

// silentPull examines a pull of which the runtime has nothing yet: it has one as soon as the
// registry has sent anything. A pod of a kubelet may wait for the pull of another image first,
// of which there is something then.
func silentPull(v *facts) finding {
	ofPodctl := v.Manager != nil && v.PullsListed && len(v.Pulls) == 0
	if !v.isPulling() || !ofPodctl && !v.NoPull {
		return finding{}
	}
	e := Evidence{Kind: KindPull, Subject: v.image(), Message: "of which the registry has sent nothing", Since: v.since}
	return finding{evidence: []Evidence{inContainer(v.position.container, e)}, next: commandOn("podctl pull ", v.image())}
}

func activePull(v *facts) finding {
	switch {
	case len(v.Pulls) > 0:
		return finding{evidence: []Evidence{pullEvidence(&v.Pulls[0])}}
	case v.Unnamed != nil && v.isPulling():
		return finding{evidence: []Evidence{pullEvidence(v.Unnamed)}, sure: Unknown}
	}
	return finding{}
}

func pullEvidence(p *view.PullRate) Evidence {
	e := Evidence{Kind: KindPull, Subject: p.Image, Bytes: p.Bytes, Total: p.Total, Rate: p.Rate, Since: p.Since}
	switch {
	case p.Unpacks:
		e.Message = "which is received, and is unpacked"
	case p.Number > 0 && p.Rate == 0:
		e.Message = fmt.Sprintf("one of %d of which the runtime does not name the image, and which receive nothing", p.Number)
	case p.Number > 0:
		e.Message = fmt.Sprintf("one of %d of which the runtime does not name the image, and which receive something", p.Number)
	}
	return e
}
