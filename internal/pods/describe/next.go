package describe

import (
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
)

// nextOf returns what to try, best first: mostly commands. verdict are those of a pod that is
// being terminated, name stands for the pod in commands, held are the images that the runtime
// has although a container waits for them.
func nextOf(f *Facts, name string, held map[string]bool, verdict []string) []string {
	next := slices.Clone(verdict)
	add := func(command string) {
		if !slices.Contains(next, command) {
			next = append(next, command)
		}
	}
	if w := f.Worker; w != nil {
		if w.Stopped {
			add("podctl start " + name)
		}
		if w.Advice != "" {
			add(w.Advice)
		}
		if w.NotReady != "" && f.Stopping == nil {
			for _, gate := range f.unmetGates() {
				add("podctl condition " + pod.DisplayName(f.Metadata.Namespace, f.Metadata.Name) + " " + gate + "=True")
			}
		}
	}
	for i := range f.Containers {
		c := &f.Containers[i]
		container := name + "/" + c.Name
		if !pod.IsShellSafe(c.Name) {
			container = c.ID
		}
		switch end := c.failure(); {
		case end != nil && end.Cause.Kind == CauseStart: // it wrote nothing
			add("podctl inspect " + container)
		case end != nil && c.Last == end && c.State == stateRunning:
			add("podctl logs -p " + container)
		case end != nil:
			add("podctl logs " + container)
		case c.State == stateRunning && (c.Kind == KindInit || c.failingProbe() != ""), c.unready():
			add("podctl logs -f " + container)
		case c.State == stateRunning && c.Last != nil && c.Last.ExitCode != 0:
			add("podctl logs -p " + container)
		case c.ImageAdvice() != "":
			add(c.ImageAdvice())
		case c.waitsForImage() && held[c.Image]:
			add("podctl images " + c.Image)
			add(useHeldImage)
		case c.waitsForImage():
			add("podctl pull " + c.Image)
		}
		for _, end := range c.exits() {
			if end.Cause.Kind == CauseOOM {
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
	case slices.ContainsFunc(f.Containers, func(c Container) bool { return c.State == stateRunning }):
		return []string{"podctl logs -f " + name, "podctl top " + name}
	}
	if f.Status == "ContainerCreating" {
		return []string{"podctl starting " + name}
	}
	return []string{"podctl pods -w " + name}
}

// unmetGates returns the readiness gates whose condition is not True.
func (f *Facts) unmetGates() []string {
	if f.Spec == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Spec.ReadinessGates), func(gate string) bool {
		return slices.ContainsFunc(f.Conditions, func(c Condition) bool { return c.Type == gate && c.Status == "True" })
	})
}

// WithoutRegistry says where it is told how an image comes to a machine without a registry.
const WithoutRegistry = "or load it from a file: docs/images.md#without-a-registry"

const useHeldImage = "imagePullPolicy: IfNotPresent in the manifest uses the image that is here"

// ImageAdvice returns what helps a container whose image is not pulled, though it is here or
// because it may not be; "" for any other.
func (c *Container) ImageAdvice() string {
	switch {
	case strings.Contains(c.Message, pod.ImagePresent):
		return useHeldImage
	case c.Reason == "ErrImageNeverPull":
		return "ctr -n k8s.io images import FILE.tar loads it: docs/images.md#without-a-registry"
	}
	return ""
}

// waitsForImage reports whether the image could not be pulled.
func (c *Container) waitsForImage() bool {
	return c.Reason == "ErrImagePull" || c.Reason == "ImagePullBackOff"
}

// unready reports whether a container that runs is not ready.
func (c *Container) unready() bool {
	return c.State == stateRunning && c.Kind != KindInit && c.Ready != nil && !*c.Ready
}
