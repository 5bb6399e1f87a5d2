package view

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
)

// WantedBy returns the containers that do not run and whose image the pull may be of: the
// runtime knows the repository during a pull, and not the tag.
func WantedBy(p pulls.Pull, pods []*Pod) []images.Use {
	var uses []images.Use
	for _, known := range pods {
		if known.Object == nil || pod.IsTerminal(known.Object.Status.Phase) {
			continue
		}
		for _, c := range slices.Concat(known.Object.Spec.InitContainers, known.Object.Spec.Containers) {
			if p.Of(c.Image) && !runsContainer(known.Runtime, &c) {
				uses = append(uses, images.Use{Namespace: known.Namespace, Pod: known.Name, Container: c.Name})
			}
		}
		for _, v := range known.Object.Spec.Volumes {
			if v.Image != nil && p.Of(v.Image.Reference) && (known.Runtime == nil || len(known.Runtime.Containers) == 0) {
				uses = append(uses, images.Use{Namespace: known.Namespace, Pod: known.Name, Volume: true})
			}
		}
	}
	slices.SortFunc(uses, func(a, b images.Use) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.Container, b.Container))
	})
	return uses
}

// runsContainer reports whether the container runs.
func runsContainer(p *pod.Pod, c *v1.Container) bool {
	return p != nil && slices.ContainsFunc(p.Containers, func(of *pod.Container) bool { return of.Name == c.Name && of.State == pod.Running })
}
