package manifest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/conversion"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	core "k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/discovery"
	discoverydefaults "k8s.io/kubernetes/pkg/apis/discovery/v1"
	discoveryvalidation "k8s.io/kubernetes/pkg/apis/discovery/validation"
	nodedefaults "k8s.io/kubernetes/pkg/apis/node/v1"
	nodevalidation "k8s.io/kubernetes/pkg/apis/node/validation"
	schedulingdefaults "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
	storagedefaults "k8s.io/kubernetes/pkg/apis/storage/v1"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

// storing returns the function that makes of an object what the API server stores, and what it
// has to say against it (pkg/registry/core/configmap/strategy.go …). Without back the object is
// stored as it is defaulted.
func storing[V, I any, P interface {
	*V
	DeepCopy() *V
}](kind string, defaults func(*V), convert func(*V, *I, conversion.Scope) error, validate func(*I) field.ErrorList, back func(*I, *V, conversion.Scope) error) func(*V) (*V, field.ErrorList, error) {
	return func(v *V) (*V, field.ErrorList, error) {
		if defaults != nil {
			defaults(v)
		}
		internal := new(I)
		if err := convert(P(v).DeepCopy(), internal, nil); err != nil {
			return nil, nil, fmt.Errorf("convert %s: %w", kind, err)
		}
		errs := validate(internal)
		if back == nil {
			return v, errs, nil
		}
		v = new(V)
		return v, errs, back(internal, v, nil)
	}
}

var (
	storedConfigMap = storing("ConfigMap", corev1.SetObjectDefaults_ConfigMap, corev1.Convert_v1_ConfigMap_To_core_ConfigMap,
		validation.ValidateConfigMap, corev1.Convert_core_ConfigMap_To_v1_ConfigMap)
	// The conversion merges stringData into data.
	storedSecret = storing("Secret", corev1.SetObjectDefaults_Secret, corev1.Convert_v1_Secret_To_core_Secret,
		validation.ValidateSecret, corev1.Convert_core_Secret_To_v1_Secret)
	storedClaim = storing("PersistentVolumeClaim", corev1.SetObjectDefaults_PersistentVolumeClaim, corev1.Convert_v1_PersistentVolumeClaim_To_core_PersistentVolumeClaim,
		func(c *core.PersistentVolumeClaim) field.ErrorList {
			return validation.ValidatePersistentVolumeClaim(c, validation.ValidationOptionsForPersistentVolumeClaimCreate())
		}, corev1.Convert_core_PersistentVolumeClaim_To_v1_PersistentVolumeClaim)
	storedVolume = storing("PersistentVolume", corev1.SetObjectDefaults_PersistentVolume, corev1.Convert_v1_PersistentVolume_To_core_PersistentVolume,
		func(v *core.PersistentVolume) field.ErrorList {
			return validation.ValidatePersistentVolume(v, validation.ValidationOptionsForPersistentVolume(v, nil))
		}, corev1.Convert_core_PersistentVolume_To_v1_PersistentVolume)
	storedService = storing("Service", corev1.SetObjectDefaults_Service, corev1.Convert_v1_Service_To_core_Service,
		func(s *core.Service) field.ErrorList {
			if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 { // normalizeClusterIPs in pkg/registry/core/service/strategy.go
				s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
			}
			return append(validation.ValidateServiceCreate(s), validateNodePorts(s)...)
		}, nil)
	storedEndpointSlice = storing("EndpointSlice", discoverydefaults.SetObjectDefaults_EndpointSlice, discoverydefaults.Convert_v1_EndpointSlice_To_discovery_EndpointSlice,
		func(s *discovery.EndpointSlice) field.ErrorList {
			return append(discoveryvalidation.ValidateEndpointSliceCreate(s), validateEndpointPorts(s)...)
		}, nil)
	storedServiceAccount = storing("ServiceAccount", nil, corev1.Convert_v1_ServiceAccount_To_core_ServiceAccount, validation.ValidateServiceAccount, nil)
	storedLimitRange     = storing("LimitRange", corev1.SetObjectDefaults_LimitRange, corev1.Convert_v1_LimitRange_To_core_LimitRange, validation.ValidateLimitRange, nil)
	storedResourceQuota  = storing("ResourceQuota", corev1.SetObjectDefaults_ResourceQuota, corev1.Convert_v1_ResourceQuota_To_core_ResourceQuota, validation.ValidateResourceQuota, nil)
	storedStorageClass   = storing("StorageClass", storagedefaults.SetObjectDefaults_StorageClass, storagedefaults.Convert_v1_StorageClass_To_storage_StorageClass,
		storagevalidation.ValidateStorageClass, nil)
	storedPriorityClass = storing("PriorityClass", schedulingdefaults.SetObjectDefaults_PriorityClass, schedulingdefaults.Convert_v1_PriorityClass_To_scheduling_PriorityClass,
		schedulingvalidation.ValidatePriorityClass, nil)
	storedRuntimeClass = storing("RuntimeClass", nil, nodedefaults.Convert_v1_RuntimeClass_To_node_RuntimeClass, nodevalidation.ValidateRuntimeClass, nil)
)

// validateNodePorts refuses node ports that the API server's allocator refuses (pkg/registry/core/service/portallocator).
func validateNodePorts(s *core.Service) (errs field.ErrorList) {
	for i, p := range s.Spec.Ports {
		if p.NodePort != 0 && (p.NodePort < 30000 || p.NodePort > 32767) {
			errs = append(errs, field.Invalid(field.NewPath("spec", "ports").Index(i).Child("nodePort"), p.NodePort,
				"provided port is not in the valid range. The range of valid ports is 30000-32767"))
		}
	}
	return errs
}

// validateEndpointPorts refuses numbers that are no ports, which the API server stores.
func validateEndpointPorts(s *discovery.EndpointSlice) (errs field.ErrorList) {
	for i, p := range s.Ports {
		if p.Port != nil {
			for _, message := range utilvalidation.IsValidPortNum(int(*p.Port)) {
				errs = append(errs, field.Invalid(field.NewPath("ports").Index(i).Child("port"), *p.Port, message))
			}
		}
	}
	return errs
}
