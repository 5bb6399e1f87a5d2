package manifest

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	core "k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
)

// This file is the only one that imports k8s.io/kubernetes. Feature gates
// have the defaults of its release.

// withDefaults is the pod as the API server stores it: defaulted, and taken
// through the internal type and back, which moves and normalizes a few fields
// (pkg/kubelet/config/common.go does the same with static pods).
func withDefaults(p *v1.Pod) (*v1.Pod, error) {
	corev1.SetObjectDefaults_Pod(p)
	internal, err := toInternal(p)
	if err != nil {
		return nil, err
	}
	stored := &v1.Pod{TypeMeta: p.TypeMeta}
	if err := corev1.Convert_core_Pod_To_v1_Pod(internal, stored, nil); err != nil {
		return nil, fmt.Errorf("convert pod: %w", err)
	}
	return stored, nil
}

// validate is what the API server answers to the creation of a defaulted pod
// (pkg/registry/core/pod/strategy.go): errors, and its warnings as text.
func validate(p *v1.Pod) (field.ErrorList, []string, error) {
	internal, err := toInternal(p)
	if err != nil {
		return nil, nil, err
	}
	// Until it is told otherwise the validation forbids privileged containers;
	// kubelets and clusters allow them. It is told once, and for good.
	capabilities.Setup(true, 0)
	opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	opts.ResourceIsPod = true
	errs := validation.ValidatePodCreate(internal, opts)
	return errs, podutil.GetWarningsForPod(context.Background(), internal, nil), nil
}

// toInternal copies first: the conversion shares memory with its source.
func toInternal(p *v1.Pod) (*core.Pod, error) {
	internal := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(p.DeepCopy(), internal, nil); err != nil {
		return nil, fmt.Errorf("convert pod: %w", err)
	}
	return internal, nil
}

// storedConfigMap is a ConfigMap as the API server stores it, and what it has
// to say against it (pkg/registry/core/configmap/strategy.go); likewise those
// below.
func storedConfigMap(c *v1.ConfigMap) (*v1.ConfigMap, field.ErrorList, error) {
	corev1.SetObjectDefaults_ConfigMap(c)
	internal, stored := &core.ConfigMap{}, &v1.ConfigMap{}
	if err := corev1.Convert_v1_ConfigMap_To_core_ConfigMap(c.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert ConfigMap: %w", err)
	}
	errs := validation.ValidateConfigMap(internal)
	return stored, errs, corev1.Convert_core_ConfigMap_To_v1_ConfigMap(internal, stored, nil)
}

// The conversion merges stringData into data.
func storedSecret(s *v1.Secret) (*v1.Secret, field.ErrorList, error) {
	corev1.SetObjectDefaults_Secret(s)
	internal, stored := &core.Secret{}, &v1.Secret{}
	if err := corev1.Convert_v1_Secret_To_core_Secret(s.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert Secret: %w", err)
	}
	errs := validation.ValidateSecret(internal)
	return stored, errs, corev1.Convert_core_Secret_To_v1_Secret(internal, stored, nil)
}

func storedClaim(c *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, field.ErrorList, error) {
	corev1.SetObjectDefaults_PersistentVolumeClaim(c)
	internal, stored := &core.PersistentVolumeClaim{}, &v1.PersistentVolumeClaim{}
	if err := corev1.Convert_v1_PersistentVolumeClaim_To_core_PersistentVolumeClaim(c.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert PersistentVolumeClaim: %w", err)
	}
	errs := validation.ValidatePersistentVolumeClaim(internal, validation.ValidationOptionsForPersistentVolumeClaimCreate())
	return stored, errs, corev1.Convert_core_PersistentVolumeClaim_To_v1_PersistentVolumeClaim(internal, stored, nil)
}
