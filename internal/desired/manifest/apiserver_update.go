package manifest

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	core "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
)

// InPlace returns nil if the API server would let a pod be changed from its old
// version to its new one, both defaulted, by the requests that it has for that: an
// update, a change of its ephemeral containers, and a resize; else why not
// (pkg/registry/core/pod/strategy.go).
func InPlace(old, changed *v1.Pod) error {
	from, err := stored(old, changed.Generation)
	if err != nil {
		return err
	}
	to, err := stored(changed, changed.Generation)
	if err != nil {
		return err
	}
	capabilities.Setup(true, 0)
	for _, request := range []func(from, to *core.Pod) (*core.Pod, field.ErrorList){updated, extended, resized} {
		next, errs := request(from, to)
		if len(errs) > 0 {
			return fmt.Errorf("update pod: %w", errs.ToAggregate())
		}
		from = next
	}
	if !equality.Semantic.DeepEqual(from.Spec, to.Spec) {
		return errors.New("update pod: what changes is immutable")
	}
	return nil
}

// created returns what the API server answers to the creation of a pod, and then to the
// request that adds its ephemeral containers.
func created(p *core.Pod, opts validation.PodValidationOptions) field.ErrorList {
	if len(p.Spec.EphemeralContainers) == 0 {
		return validation.ValidatePodCreate(p, opts)
	}
	without := p.DeepCopy()
	without.Spec.EphemeralContainers = nil
	if errs := validation.ValidatePodCreate(without, opts); len(errs) > 0 {
		return errs
	}
	without.ResourceVersion = "1"
	_, errs := extended(without, p)
	return errs
}

// WithEphemeral returns the pod with one more ephemeral container, defaulted, or why
// the API server would not add it.
func WithEphemeral(p *v1.Pod, c v1.EphemeralContainer) (*v1.Pod, error) {
	next := p.DeepCopy()
	next.Spec.EphemeralContainers = append(next.Spec.EphemeralContainers, c)
	next, err := withDefaults(next)
	if err != nil {
		return nil, err
	}
	if err := InPlace(p, next); err != nil {
		return nil, err
	}
	return next, nil
}

// stored returns a pod as the API server stores it, of that generation.
func stored(p *v1.Pod, generation int64) (*core.Pod, error) {
	internal, err := toInternal(p)
	if err != nil {
		return nil, err
	}
	internal.ResourceVersion, internal.Generation = "1", generation
	internal.Status = core.PodStatus{}
	return internal, nil
}

// updated returns the pod after the update of all but resources and ephemeral
// containers.
func updated(from, to *core.Pod) (*core.Pod, field.ErrorList) {
	next := to.DeepCopy()
	next.Spec.EphemeralContainers, next.Spec.Resources = from.Spec.EphemeralContainers, from.Spec.Resources
	keepResources(next.Spec.Containers, from.Spec.Containers)
	keepResources(next.Spec.InitContainers, from.Spec.InitContainers)
	return next, validation.ValidatePodUpdate(next, from, updateOptions(next, from))
}

// keepResources gives containers the resources of others of the same place.
func keepResources(list, others []core.Container) {
	for i := range min(len(list), len(others)) {
		list[i].Resources, list[i].ResizePolicy = others[i].Resources, others[i].ResizePolicy
	}
}

// extended returns the pod with its new ephemeral containers.
func extended(from, to *core.Pod) (*core.Pod, field.ErrorList) {
	if equality.Semantic.DeepEqual(from.Spec.EphemeralContainers, to.Spec.EphemeralContainers) {
		return from, nil
	}
	next := from.DeepCopy()
	next.Spec.EphemeralContainers = to.Spec.EphemeralContainers
	return next, validation.ValidatePodEphemeralContainersUpdate(next, from, updateOptions(next, from))
}

// resized returns the pod with its new resources.
func resized(from, to *core.Pod) (*core.Pod, field.ErrorList) {
	if equality.Semantic.DeepEqual(from.Spec, to.Spec) {
		return from, nil
	}
	next := from.DeepCopy()
	next.Spec.Resources = to.Spec.Resources
	keepResources(next.Spec.Containers, to.Spec.Containers)
	keepResources(next.Spec.InitContainers, to.Spec.InitContainers)
	return next, validation.ValidatePodResize(next, from, updateOptions(next, from))
}

func updateOptions(next, from *core.Pod) validation.PodValidationOptions {
	opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&next.Spec, &from.Spec, &next.ObjectMeta, &from.ObjectMeta)
	opts.ResourceIsPod = true
	return opts
}
