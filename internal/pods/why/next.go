package why

import (
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// startingHint is what describe hints at for a pod that starts.
func startingHint(p *view.Pod) string { return "podctl starting " + p.CLIName() }

// nextOf returns what to try, best first: mostly commands. ending are those for a pod that is being
// terminated.
func nextOf(f *view.Pod, ending []string) []string {
	next, name := slices.Clone(ending), f.CLIName()
	add := func(command string) {
		if !slices.Contains(next, command) {
			next = append(next, command)
		}
	}
	if w := &f.Worker; f.Manager != nil {
		if w.Stopped {
			add("podctl start " + name)
		}
		if w.Advice != "" {
			add(w.Advice)
		}
		if w.NotReady != "" && f.Stopping == nil {
			for _, gate := range unmetGates(f) {
				add("podctl condition " + f.DisplayName() + " " + gate + "=True")
			}
		}
	}
	for i := range f.Containers {
		c := &f.Containers[i]
		container := name + "/" + c.Name
		if !pod.IsShellSafe(c.Name) {
			container = c.ID
		}
		if c.IsBroken() {
			_, commands := BrokenText(name, c)
			next = append(next, commands...)
		}
		switch end := c.Failure(); {
		case end != nil && end.Cause.Kind == view.CauseStart: // it wrote nothing
			add("podctl inspect " + container)
		case end != nil && c.Last == end && c.State == view.Running:
			add("podctl logs -p " + container)
		case end != nil:
			add("podctl logs " + container)
		case c.State == view.Running && (c.Kind == view.KindInit || c.FailingProbe() != ""), c.Unready():
			add("podctl logs -f " + container)
		case c.State == view.Running && c.Last != nil && c.Last.ExitCode != 0:
			add("podctl logs -p " + container)
		case imageAdvice(c) != "":
			add(imageAdvice(c))
		case c.WaitsForImage() && f.HasImage[c.Image]:
			add("podctl images " + c.Image)
			add(useHeldImage)
		case c.WaitsForImage():
			add("podctl pull " + c.Image)
		}
		for _, end := range c.Ends() {
			if end.Cause.Kind == view.CauseOOM {
				add("podctl top containers " + name)
			}
		}
	}
	if f.Owner.Exited {
		add("podctl orphans")
	}
	switch {
	case len(next) > 0:
		return next
	case slices.ContainsFunc(f.Containers, func(c view.Container) bool { return c.State == view.Running }):
		return []string{"podctl logs -f " + name, "podctl top " + name}
	}
	if f.Status == "ContainerCreating" {
		return []string{startingHint(f)}
	}
	return []string{"podctl pods -w " + name}
}

// unmetGates returns the readiness gates whose condition is not True.
func unmetGates(f *view.Pod) []string {
	if f.Spec == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Spec.ReadinessGates), func(gate string) bool {
		return slices.ContainsFunc(f.Conditions, func(c view.Condition) bool { return c.Type == gate && c.Status == "True" })
	})
}

// withoutRegistry says where it is told how an image comes to a machine without a registry.
const withoutRegistry = "or load it from a file: docs/images.md#without-a-registry"

const useHeldImage = "imagePullPolicy: IfNotPresent in the manifest uses the image that is here"

// imageAdvice returns what helps a container whose image is not pulled, though it is here or
// because it may not be; "" for any other.
func imageAdvice(c *view.Container) string {
	switch {
	case strings.Contains(c.Message, pod.ImagePresent):
		return useHeldImage
	case c.Reason == "ErrImageNeverPull":
		return "ctr -n k8s.io images import FILE.tar loads it: docs/images.md#without-a-registry"
	}
	return ""
}
