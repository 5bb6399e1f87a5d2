package manifest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	core "k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	node "k8s.io/kubernetes/pkg/apis/node"
	nodedefaults "k8s.io/kubernetes/pkg/apis/node/v1"
	nodevalidation "k8s.io/kubernetes/pkg/apis/node/validation"
	scheduling "k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingdefaults "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
	storage "k8s.io/kubernetes/pkg/apis/storage"
	storagedefaults "k8s.io/kubernetes/pkg/apis/storage/v1"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

// storedConfigMap returns a ConfigMap as the API server stores it, and what it has
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

func storedVolume(v *v1.PersistentVolume) (*v1.PersistentVolume, field.ErrorList, error) {
	corev1.SetObjectDefaults_PersistentVolume(v)
	internal, stored := &core.PersistentVolume{}, &v1.PersistentVolume{}
	if err := corev1.Convert_v1_PersistentVolume_To_core_PersistentVolume(v.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert PersistentVolume: %w", err)
	}
	errs := validation.ValidatePersistentVolume(internal, validation.ValidationOptionsForPersistentVolume(internal, nil))
	return stored, errs, corev1.Convert_core_PersistentVolume_To_v1_PersistentVolume(internal, stored, nil)
}

func storedServiceAccount(a *v1.ServiceAccount) (*v1.ServiceAccount, field.ErrorList, error) {
	internal := &core.ServiceAccount{}
	if err := corev1.Convert_v1_ServiceAccount_To_core_ServiceAccount(a.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert ServiceAccount: %w", err)
	}
	return a, validation.ValidateServiceAccount(internal), nil
}

func storedLimitRange(l *v1.LimitRange) (*v1.LimitRange, field.ErrorList, error) {
	corev1.SetObjectDefaults_LimitRange(l)
	internal := &core.LimitRange{}
	if err := corev1.Convert_v1_LimitRange_To_core_LimitRange(l.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert LimitRange: %w", err)
	}
	return l, validation.ValidateLimitRange(internal), nil
}

func storedResourceQuota(q *v1.ResourceQuota) (*v1.ResourceQuota, field.ErrorList, error) {
	internal := &core.ResourceQuota{}
	if err := corev1.Convert_v1_ResourceQuota_To_core_ResourceQuota(q.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert ResourceQuota: %w", err)
	}
	return q, validation.ValidateResourceQuota(internal), nil
}

func storedStorageClass(c *storagev1.StorageClass) (*storagev1.StorageClass, field.ErrorList, error) {
	storagedefaults.SetObjectDefaults_StorageClass(c)
	internal := &storage.StorageClass{}
	if err := storagedefaults.Convert_v1_StorageClass_To_storage_StorageClass(c.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert StorageClass: %w", err)
	}
	return c, storagevalidation.ValidateStorageClass(internal), nil
}

func storedPriorityClass(c *schedulingv1.PriorityClass) (*schedulingv1.PriorityClass, field.ErrorList, error) {
	schedulingdefaults.SetObjectDefaults_PriorityClass(c)
	internal := &scheduling.PriorityClass{}
	if err := schedulingdefaults.Convert_v1_PriorityClass_To_scheduling_PriorityClass(c.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert PriorityClass: %w", err)
	}
	return c, schedulingvalidation.ValidatePriorityClass(internal), nil
}

func storedRuntimeClass(c *nodev1.RuntimeClass) (*nodev1.RuntimeClass, field.ErrorList, error) {
	internal := &node.RuntimeClass{}
	if err := nodedefaults.Convert_v1_RuntimeClass_To_node_RuntimeClass(c.DeepCopy(), internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert RuntimeClass: %w", err)
	}
	return c, nodevalidation.ValidateRuntimeClass(internal), nil
}
