package pod

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Objects has the declared objects that are not pods: the objects to which pods refer, and those
// that the API server's admission plugins and controllers apply to pods. It is not changed once
// it is shared; a change is a new value. nil and the zero value have no objects. The keys of
// cluster-scoped objects have no namespace.
type Objects struct {
	ConfigMaps      map[types.NamespacedName]*v1.ConfigMap
	Secrets         map[types.NamespacedName]*v1.Secret
	Claims          map[types.NamespacedName]*v1.PersistentVolumeClaim
	Volumes         map[types.NamespacedName]*v1.PersistentVolume
	StorageClasses  map[types.NamespacedName]*storagev1.StorageClass
	PriorityClasses map[types.NamespacedName]*schedulingv1.PriorityClass
	RuntimeClasses  map[types.NamespacedName]*nodev1.RuntimeClass
	ServiceAccounts map[types.NamespacedName]*v1.ServiceAccount
	Services        map[types.NamespacedName]*v1.Service
	EndpointSlices  map[types.NamespacedName]*discoveryv1.EndpointSlice
	// Bindings has the binding of each claim, set by Merge; podctl provisions a claim without
	// an entry as a directory.
	Bindings map[types.NamespacedName]Binding
	// Hostname is the node's kubernetes.io/hostname label, against which the node affinity of
	// volumes is evaluated; "" if it is not known.
	Hostname string
}

// NewObjects returns empty Objects whose maps are not nil.
func NewObjects() *Objects {
	return &Objects{
		ConfigMaps:      map[types.NamespacedName]*v1.ConfigMap{},
		Secrets:         map[types.NamespacedName]*v1.Secret{},
		Claims:          map[types.NamespacedName]*v1.PersistentVolumeClaim{},
		Volumes:         map[types.NamespacedName]*v1.PersistentVolume{},
		StorageClasses:  map[types.NamespacedName]*storagev1.StorageClass{},
		PriorityClasses: map[types.NamespacedName]*schedulingv1.PriorityClass{},
		RuntimeClasses:  map[types.NamespacedName]*nodev1.RuntimeClass{},
		ServiceAccounts: map[types.NamespacedName]*v1.ServiceAccount{},
		Services:        map[types.NamespacedName]*v1.Service{},
		EndpointSlices:  map[types.NamespacedName]*discoveryv1.EndpointSlice{},
	}
}

// ConfigMap returns the ConfigMap of the name, nil if there is none.
func (o *Objects) ConfigMap(namespace, name string) *v1.ConfigMap {
	if o == nil {
		return nil
	}
	return o.ConfigMaps[types.NamespacedName{Namespace: namespace, Name: name}]
}

// Secret returns the Secret of the name, its stringData merged into its data; nil
// if there is none. Its values belong into no log, error or output.
func (o *Objects) Secret(namespace, name string) *v1.Secret {
	if o == nil {
		return nil
	}
	return o.Secrets[types.NamespacedName{Namespace: namespace, Name: name}]
}

// Claim returns the persistent volume claim of the name, nil if there is none.
func (o *Objects) Claim(namespace, name string) *v1.PersistentVolumeClaim {
	if o == nil {
		return nil
	}
	return o.Claims[types.NamespacedName{Namespace: namespace, Name: name}]
}

// Binding returns the binding of a claim; the zero Binding if podctl provisions it.
func (o *Objects) Binding(namespace, name string) Binding {
	if o == nil {
		return Binding{}
	}
	return o.Bindings[types.NamespacedName{Namespace: namespace, Name: name}]
}

// RuntimeHandler returns the handler of a declared RuntimeClass, "" if none of the name is
// declared.
func (o *Objects) RuntimeHandler(class string) string {
	if o == nil || o.RuntimeClasses[types.NamespacedName{Name: class}] == nil {
		return ""
	}
	return o.RuntimeClasses[types.NamespacedName{Name: class}].Handler
}

// Remove removes the object of a kind and name, and reports whether there was one.
func (o *Objects) Remove(kind string, name types.NamespacedName) bool {
	switch kind {
	case "ConfigMap":
		return remove(o.ConfigMaps, name)
	case "Secret":
		return remove(o.Secrets, name)
	case "PersistentVolumeClaim":
		return remove(o.Claims, name)
	case "PersistentVolume":
		return remove(o.Volumes, name)
	case "StorageClass":
		return remove(o.StorageClasses, name)
	case "PriorityClass":
		return remove(o.PriorityClasses, name)
	case "RuntimeClass":
		return remove(o.RuntimeClasses, name)
	case "ServiceAccount":
		return remove(o.ServiceAccounts, name)
	case "Service":
		return remove(o.Services, name)
	case "EndpointSlice":
		return remove(o.EndpointSlices, name)
	}
	return false
}

func remove[T any](from map[types.NamespacedName]T, name types.NamespacedName) bool {
	_, there := from[name]
	delete(from, name)
	return there
}

// Merge returns the union of all, with the claims bound to the volumes. If two objects have the
// same kind and name, it keeps the first.
func Merge(all ...*Objects) *Objects {
	merged := NewObjects()
	for _, o := range slices.Backward(all) {
		if o == nil {
			continue
		}
		maps.Copy(merged.ConfigMaps, o.ConfigMaps)
		maps.Copy(merged.Secrets, o.Secrets)
		maps.Copy(merged.Claims, o.Claims)
		maps.Copy(merged.Volumes, o.Volumes)
		maps.Copy(merged.StorageClasses, o.StorageClasses)
		maps.Copy(merged.PriorityClasses, o.PriorityClasses)
		maps.Copy(merged.RuntimeClasses, o.RuntimeClasses)
		maps.Copy(merged.ServiceAccounts, o.ServiceAccounts)
		maps.Copy(merged.Services, o.Services)
		maps.Copy(merged.EndpointSlices, o.EndpointSlices)
		merged.Hostname = cmp.Or(o.Hostname, merged.Hostname)
	}
	merged.Bindings = bindClaims(merged)
	return merged
}

// VolumeInput is what a pod's volumes are made of beside the pod itself. The
// zero value has no objects and no downward API.
type VolumeInput struct {
	// Objects are what the pod may refer to.
	Objects *Objects
	// Downward is the content of a file of the downward API; nil has none.
	Downward func(v1.DownwardAPIVolumeFile) (string, error)
	// Memory is the node's allocatable memory in bytes, the most that a volume
	// in memory may hold; 0 leaves it to the kernel.
	Memory int64
}

// MemoryLimit returns the memory limit of the pod's cgroup in bytes, 0 if IsLimited is false for
// memory (ResourceConfigForPod in pkg/kubelet/cm/helpers_linux.go).
func MemoryLimit(p *v1.Pod) int64 {
	if !IsLimited(p, v1.ResourceMemory) || QOS(p) == v1.PodQOSBestEffort {
		return 0
	}
	limits := resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{})
	return limits.Memory().Value()
}

// IsLimited reports whether a resource has a limit for the whole pod: the pod itself, or each of
// its init and regular containers, sets one.
func IsLimited(p *v1.Pod, name v1.ResourceName) bool {
	if resourcehelper.IsPodLevelResourcesSet(p) {
		if l := p.Spec.Resources.Limits[name]; !l.IsZero() {
			return true
		}
	}
	unlimited := func(c v1.Container) bool {
		l := c.Resources.Limits[name]
		return l.IsZero()
	}
	return !slices.ContainsFunc(p.Spec.InitContainers, unlimited) && !slices.ContainsFunc(p.Spec.Containers, unlimited)
}
