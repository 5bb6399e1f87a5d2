package pod

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Objects are the objects beside the pods that decide how pods run: what pods refer
// to, and what the API server's admission and controllers apply to them. They are
// handed out as they are and never changed again; a change is a new value. nil has
// none, and so has the zero value. Those without a namespace have "" for it.
type Objects struct {
	ConfigMaps      map[types.NamespacedName]*v1.ConfigMap
	Secrets         map[types.NamespacedName]*v1.Secret
	Claims          map[types.NamespacedName]*v1.PersistentVolumeClaim
	Volumes         map[types.NamespacedName]*v1.PersistentVolume
	StorageClasses  map[types.NamespacedName]*storagev1.StorageClass
	PriorityClasses map[types.NamespacedName]*schedulingv1.PriorityClass
	RuntimeClasses  map[types.NamespacedName]*nodev1.RuntimeClass
	ServiceAccounts map[types.NamespacedName]*v1.ServiceAccount
	LimitRanges     map[types.NamespacedName]*v1.LimitRange
	// Bindings say which volume each claim is bound to. Merge makes them; a claim
	// without an entry is a directory of podctl's own.
	Bindings map[types.NamespacedName]Binding
	// ranges are the LimitRanges by namespace, sorted by name, as Merge found them.
	ranges map[string][]*v1.LimitRange
	// Hostname is that of the node on which the pods run, which node affinities of
	// volumes name; "" if it is not known.
	Hostname string
}

// NewObjects returns no objects, in maps that can be added to.
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
		LimitRanges:     map[types.NamespacedName]*v1.LimitRange{},
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

// Binding returns to which volume the claim is bound.
func (o *Objects) Binding(namespace, name string) Binding {
	if o == nil {
		return Binding{}
	}
	return o.Bindings[types.NamespacedName{Namespace: namespace, Name: name}]
}

// RuntimeHandler returns the runtime handler of a runtime class, "" if no RuntimeClass
// of the name is declared.
func (o *Objects) RuntimeHandler(class string) string {
	if o == nil || o.RuntimeClasses[types.NamespacedName{Name: class}] == nil {
		return ""
	}
	return o.RuntimeClasses[types.NamespacedName{Name: class}].Handler
}

// Merge returns all objects of all, and binds the claims to the volumes; of two of one
// kind and name, the first counts.
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
		maps.Copy(merged.LimitRanges, o.LimitRanges)
		merged.Hostname = cmp.Or(o.Hostname, merged.Hostname)
	}
	merged.Bindings = bind(merged)
	merged.ranges = map[string][]*v1.LimitRange{}
	for _, l := range sortedByName(merged.LimitRanges) {
		merged.ranges[l.Namespace] = append(merged.ranges[l.Namespace], l)
	}
	return merged
}

// LimitRangesOf returns the LimitRanges of a namespace, sorted by name. The objects are those
// that Merge returned.
func (o *Objects) LimitRangesOf(namespace string) []*v1.LimitRange { return o.ranges[namespace] }

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

// MemoryLimit returns what the pod's cgroup limits its memory to, in bytes: 0 for
// none, as where IsLimited says no (ResourceConfigForPod in
// pkg/kubelet/cm/helpers_linux.go).
func MemoryLimit(p *v1.Pod) int64 {
	if !IsLimited(p, v1.ResourceMemory) || QOS(p) == v1.PodQOSBestEffort {
		return 0
	}
	limits := resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{})
	return limits.Memory().Value()
}

// IsLimited reports whether the pod as a whole is limited in a resource: the pod
// itself, or each of its init and regular containers, sets that limit.
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
