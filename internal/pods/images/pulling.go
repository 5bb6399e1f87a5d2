package images

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/inventory"
)

// WantedBy returns the containers that do not run and whose image the pull may be of: the
// runtime knows the repository during a pull, and not the tag.
func WantedBy(p pulls.Pull, pods []*inventory.Pod) []Use {
	var uses []Use
	for _, known := range pods {
		if known.Object == nil || pod.IsTerminal(known.Object.Status.Phase) {
			continue
		}
		for _, c := range slices.Concat(known.Object.Spec.InitContainers, known.Object.Spec.Containers) {
			if p.Of(c.Image) && !runs(known.Runtime, &c) {
				uses = append(uses, Use{Namespace: known.Namespace, Pod: known.Name, Container: c.Name})
			}
		}
		for _, v := range known.Object.Spec.Volumes {
			if v.Image != nil && p.Of(v.Image.Reference) && (known.Runtime == nil || len(known.Runtime.Containers) == 0) {
				uses = append(uses, Use{Namespace: known.Namespace, Pod: known.Name, Volume: true})
			}
		}
	}
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.Container, b.Container))
	})
	return uses
}

// runs reports whether the container runs.
func runs(p *pod.Pod, c *v1.Container) bool {
	return p != nil && slices.ContainsFunc(p.Containers, func(of *pod.Container) bool { return of.Name == c.Name && of.State == pod.Running })
}

// ProgressText is how far a pull is: "12Mi of 40Mi, 3.1Mi/s", or "12Mi of 40Mi, no progress
// for 45s"; size formats bytes.
func ProgressText(p pulls.Pull, rate float64, size func(uint64) string) string {
	done, total := size(uint64(p.Done())), p.Total()
	switch {
	case len(p.Layers) == 0:
		return "reads the manifest"
	case p.Transferred():
		return "unpacks " + done
	case total > 0:
		done += " of " + size(uint64(total))
	}
	if p.Idle() >= pulls.LongIdle {
		return done + ", no progress for " + duration.HumanDuration(p.Idle())
	}
	return done + ", " + size(uint64(rate)) + "/s"
}
