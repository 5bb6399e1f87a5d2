package debugger

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// CopyOptions are the differences between a pod and its copy.
type CopyOptions struct {
	// Name is the copy's.
	Name string
	// Container is altered by Image and Command, or added, with an Image, if the pod has
	// none of that name; "" is none.
	Container string
	// Image and Command are "" and nil for no change.
	Image   string
	Command []string
	// Images are the images of other containers by name, * for all.
	Images map[string]string
	// KeepLabels leaves the labels; whatever selects the pod selects the copy, too.
	KeepLabels bool
	// ShareProcesses sets shareProcessNamespace; nil is true if the pod does not say.
	ShareProcesses *bool
}

// Copy is the pod that `kubectl debug --copy-to` creates with its profile "general":
// without identity, node, annotations, probes and ephemeral containers. It is pure.
func Copy(p *v1.Pod, o CopyOptions) (*v1.Pod, error) {
	c := &v1.Pod{Spec: *p.Spec.DeepCopy()}
	c.APIVersion, c.Kind = "v1", "Pod"
	c.Namespace, c.Name = p.Namespace, o.Name
	if o.KeepLabels {
		c.Labels = p.DeepCopy().Labels
	}
	c.Spec.NodeName, c.Spec.EphemeralContainers = "", nil
	// Defaults that podctl ignores, and would warn about.
	c.Spec.SchedulerName, c.Spec.EnableServiceLinks = "", nil
	for i := range c.Spec.Containers {
		d := &c.Spec.Containers[i]
		d.LivenessProbe, d.ReadinessProbe, d.StartupProbe = nil, nil, nil
	}
	shareProcesses(&c.Spec, o.ShareProcesses)
	if err := setImages(&c.Spec, o.Images); err != nil {
		return nil, err
	}
	if o.Container == "" {
		return c, nil
	}
	d, err := alterContainer(&c.Spec, o)
	if err != nil {
		return nil, err
	}
	if o.Image != "" {
		d.Image = o.Image
	}
	if len(o.Command) > 0 {
		d.Command, d.Args = o.Command, nil
	}
	allowTracing(d)
	return c, nil
}

// shareProcesses sets what the containers see of each other's processes.
func shareProcesses(s *v1.PodSpec, want *bool) {
	switch {
	case want != nil:
		s.ShareProcessNamespace = want
	case s.ShareProcessNamespace == nil && !s.HostPID: // validation refuses both
		s.ShareProcessNamespace = new(true)
	}
}

func setImages(s *v1.PodSpec, images map[string]string) error {
	for name, image := range images {
		found := false
		for i := range s.Containers {
			d := &s.Containers[i]
			switch {
			case d.Name == name:
				d.Image, found = image, true
			case name == "*":
				found = true
				if images[d.Name] == "" {
					d.Image = image
				}
			}
		}
		if !found {
			return fmt.Errorf("copy pod: it has no container %q", name)
		}
	}
	return nil
}

// alterContainer returns the container that the options name, added if the pod does not have it.
func alterContainer(s *v1.PodSpec, o CopyOptions) (*v1.Container, error) {
	isNamed := func(d v1.Container) bool { return d.Name == o.Container }
	for _, list := range [][]v1.Container{s.Containers, s.InitContainers} {
		if i := slices.IndexFunc(list, isNamed); i >= 0 {
			return &list[i], nil
		}
	}
	if o.Image == "" {
		return nil, fmt.Errorf("copy pod: it has no container %q, and there is no image to add one", o.Container)
	}
	s.Containers = append(s.Containers, v1.Container{Name: o.Container, ImagePullPolicy: v1.PullIfNotPresent})
	return &s.Containers[len(s.Containers)-1], nil
}

// allowTracing lets a container trace processes.
func allowTracing(d *v1.Container) {
	if d.SecurityContext == nil {
		d.SecurityContext = &v1.SecurityContext{}
	}
	if d.SecurityContext.Capabilities == nil {
		d.SecurityContext.Capabilities = &v1.Capabilities{}
	}
	add := &d.SecurityContext.Capabilities.Add
	if !slices.Contains(*add, "SYS_PTRACE") {
		*add = append(*add, "SYS_PTRACE")
	}
}
