package pod

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Binding says to which PersistentVolume a PersistentVolumeClaim is bound. The zero value is a
// claim that podctl provisions as a directory.
type Binding struct {
	// Volume is the volume to which the claim is bound, nil if there is none.
	Volume *v1.PersistentVolume
	// Pending says why the claim is not bound, "" if it is bound or provisioned.
	Pending string
}

// CheckSupported returns an error if podctl cannot mount the bound volume, nil if it can or no
// volume is bound.
func (b Binding) CheckSupported() error {
	if b.Volume == nil || b.Path() != "" {
		return nil
	}
	return fmt.Errorf("persistentvolume %q is %s, which podctl does not mount", b.Volume.Name, describeSource(b.Volume.Spec.PersistentVolumeSource))
}

// CheckNode returns an error if the node affinity of the bound volume excludes the node hostname,
// nil if it matches or cannot be evaluated.
func (b Binding) CheckNode(hostname string) error {
	if b.Volume == nil {
		return nil
	}
	if on, known := onNode(b.Volume, hostname); on || !known {
		return nil
	}
	return fmt.Errorf("persistentvolume %q is on another node: no term of its nodeAffinity matches this one (%s=%s)", b.Volume.Name, v1.LabelHostname, hostname)
}

// Path returns the directory of the bound volume on the node, "" if no volume is bound or it is
// neither a hostPath nor a local volume.
func (b Binding) Path() string {
	switch {
	case b.Volume == nil:
	case b.Volume.Spec.HostPath != nil:
		return b.Volume.Spec.HostPath.Path
	case b.Volume.Spec.Local != nil:
		return b.Volume.Spec.Local.Path
	}
	return ""
}

// defaultStorageClass returns the name of the default StorageClass, "" if there is none. If several
// are marked as default, the first by name is used; a cluster uses the newest.
func (o *Objects) defaultStorageClass() string {
	for _, c := range sortedByName(o.StorageClasses) {
		if c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true" {
			return c.Name
		}
	}
	return ""
}

// bindClaims returns the bindings of all claims, as the volume controller binds them
// (syncUnboundClaim in pkg/controller/volume/persistentvolume/pv_controller.go): claims and
// volumes that name one another come first, then each claim, in the order of names, gets the
// smallest volume that fits. podctl provisions a directory for each other claim, unless its class
// has no provisioner.
func bindClaims(o *Objects) map[types.NamespacedName]Binding {
	if len(o.Volumes) == 0 && len(o.StorageClasses) == 0 {
		return nil
	}
	b := binder{
		o: o, defaultClass: o.defaultStorageClass(), byClass: map[string][]*v1.PersistentVolume{},
		reservedFor: map[types.NamespacedName][]*v1.PersistentVolume{}, taken: map[string]bool{}, bindings: map[types.NamespacedName]Binding{},
	}
	for _, v := range sortedByName(o.Volumes) {
		b.byClass[volumeClass(v)] = append(b.byClass[volumeClass(v)], v)
		if ref := v.Spec.ClaimRef; ref != nil {
			claim := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
			b.reservedFor[claim] = append(b.reservedFor[claim], v)
			b.taken[v.Name] = true
		}
	}
	claims := sortedByName(o.Claims)
	for _, c := range claims {
		if c.Spec.VolumeName != "" {
			b.record(c, b.bindNamed(c))
		}
	}
	for _, c := range claims {
		if c.Spec.VolumeName == "" {
			b.record(c, b.bindReserved(c))
		}
	}
	for _, c := range claims {
		if _, done := b.bindings[keyOf(c)]; !done && c.Spec.VolumeName == "" {
			b.record(c, b.bindSmallest(c))
		}
	}
	return b.bindings
}

// binder is the state of bindClaims.
type binder struct {
	o *Objects
	// defaultClass is the storage class of claims that name none.
	defaultClass string
	// byClass has the volumes by storage class, reservedFor by the claim in their claimRef.
	byClass     map[string][]*v1.PersistentVolume
	reservedFor map[types.NamespacedName][]*v1.PersistentVolume
	// taken has the names of the volumes that are bound, or reserved by their claimRef.
	taken    map[string]bool
	bindings map[types.NamespacedName]Binding
}

// claimClass returns the storage class of a claim: the default class if the claim names none
// (plugin/pkg/admission/storage/storageclass/setdefault/admission.go).
func (b *binder) claimClass(claim *v1.PersistentVolumeClaim) string {
	if class, old := claim.Annotations[v1.BetaStorageClassAnnotation]; old {
		return class
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return b.defaultClass
}

func (b *binder) record(c *v1.PersistentVolumeClaim, is Binding) {
	if is.Volume != nil {
		b.taken[is.Volume.Name] = true
	}
	if is != (Binding{}) {
		b.bindings[keyOf(c)] = is
	}
}

// bindNamed binds a claim that sets volumeName.
func (b *binder) bindNamed(c *v1.PersistentVolumeClaim) Binding {
	v := b.o.Volumes[types.NamespacedName{Name: c.Spec.VolumeName}]
	switch {
	case v == nil:
		return Binding{} // reported where the claim is declared
	case isReservedFor(v, c):
		return Binding{Volume: v}
	case b.taken[v.Name]:
		return Binding{Pending: fmt.Sprintf("volume %q already bound to a different claim.", v.Name)}
	}
	if err := b.satisfies(v, c); err != nil {
		return Binding{Pending: fmt.Sprintf("Cannot bind to requested volume %q: %v", v.Name, err)}
	}
	return Binding{Volume: v}
}

// bindReserved binds a claim to a volume whose claimRef names it; the zero Binding if there is none.
func (b *binder) bindReserved(c *v1.PersistentVolumeClaim) Binding {
	for _, v := range b.reservedFor[keyOf(c)] {
		if isLargeEnough(v, c) && volumeModeOf(v.Spec.VolumeMode) == volumeModeOf(c.Spec.VolumeMode) {
			return Binding{Volume: v}
		}
	}
	return Binding{}
}

// bindSmallest binds a claim to the smallest free volume that fits, and prefers volumes of this
// node.
func (b *binder) bindSmallest(c *v1.PersistentVolumeClaim) Binding {
	var best *v1.PersistentVolume
	bestHere := false
	var unfit mismatches
	selector := labels.Everything()
	if c.Spec.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(c.Spec.Selector); err != nil {
			return Binding{Pending: err.Error()}
		}
	}
	for _, v := range b.byClass[b.claimClass(c)] {
		if err := b.fits(v, c, selector); err != nil {
			unfit.add(v, err)
			continue
		}
		here, known := onNode(v, b.o.Hostname)
		here = here || !known
		if best == nil || here && !bestHere || here == bestHere && sizeOf(v).Cmp(*sizeOf(best)) < 0 {
			best, bestHere = v, here
		}
	}
	class := b.o.StorageClasses[types.NamespacedName{Name: b.claimClass(c)}]
	switch {
	case best != nil:
		return Binding{Volume: best}
	case class != nil && class.Provisioner != noProvisioner, class == nil && unfit.n == 0:
		return Binding{} // podctl stands in for the provisioner
	case unfit.n == 0:
		return Binding{Pending: fmt.Sprintf("no persistent volume of the class %q is declared, and it provisions none", class.Name)}
	}
	return Binding{Pending: "no persistent volume fits: " + unfit.String()}
}

// mismatches collects why volumes do not fit a claim; it names the first three.
type mismatches struct {
	named []string
	n     int
}

func (m *mismatches) add(v *v1.PersistentVolume, err error) {
	if m.n++; m.n <= 3 {
		m.named = append(m.named, fmt.Sprintf("%s: %v", v.Name, err))
	}
}

func (m *mismatches) String() string {
	text := strings.Join(m.named, "; ")
	if more := m.n - len(m.named); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// fits returns an error if the claim cannot be bound to the volume.
func (b *binder) fits(v *v1.PersistentVolume, c *v1.PersistentVolumeClaim, selector labels.Selector) error {
	switch {
	case b.taken[v.Name]:
		return errors.New("bound to a different claim")
	case !selector.Matches(labels.Set(v.Labels)):
		return errors.New("its labels do not match the selector")
	}
	return b.satisfies(v, c)
}

// satisfies returns an error if the volume does not meet the spec of the claim
// (checkVolumeSatisfyClaim in pkg/controller/volume/persistentvolume/pv_controller.go).
func (b *binder) satisfies(v *v1.PersistentVolume, c *v1.PersistentVolumeClaim) error {
	switch {
	case !isLargeEnough(v, c):
		return errors.New("requested PV is too small")
	case volumeClass(v) != b.claimClass(c):
		return errors.New("storageClassName does not match")
	case volumeAttributesClassOf(v.Spec.VolumeAttributesClassName) != volumeAttributesClassOf(c.Spec.VolumeAttributesClassName):
		return errors.New("volumeAttributesClassName does not match")
	case volumeModeOf(v.Spec.VolumeMode) != volumeModeOf(c.Spec.VolumeMode):
		return errors.New("incompatible volumeMode")
	}
	for _, mode := range c.Spec.AccessModes {
		if !slices.Contains(v.Spec.AccessModes, mode) {
			return errors.New("incompatible accessMode")
		}
	}
	return nil
}

// noProvisioner is the provisioner of classes that have only static volumes.
const noProvisioner = "kubernetes.io/no-provisioner"

func isLargeEnough(v *v1.PersistentVolume, c *v1.PersistentVolumeClaim) bool {
	asked := c.Spec.Resources.Requests[v1.ResourceStorage]
	return sizeOf(v).Cmp(asked) >= 0
}

func sizeOf(v *v1.PersistentVolume) *resource.Quantity { return v.Spec.Capacity.Storage() }

// isReservedFor reports whether the claimRef of the volume names the claim. It ignores UIDs, which
// are those of a cluster.
func isReservedFor(v *v1.PersistentVolume, c *v1.PersistentVolumeClaim) bool {
	ref := v.Spec.ClaimRef
	return ref != nil && ref.Namespace == c.Namespace && ref.Name == c.Name
}

func volumeClass(v *v1.PersistentVolume) string {
	if class, old := v.Annotations[v1.BetaStorageClassAnnotation]; old {
		return class
	}
	return v.Spec.StorageClassName
}

func volumeModeOf(mode *v1.PersistentVolumeMode) v1.PersistentVolumeMode {
	if mode == nil {
		return v1.PersistentVolumeFilesystem
	}
	return *mode
}

func volumeAttributesClassOf(class *string) string {
	if class == nil {
		return ""
	}
	return *class
}

// onNode reports whether the node affinity of the volume matches the node hostname; known is false
// if the affinity uses labels that podctl does not know.
func onNode(v *v1.PersistentVolume, hostname string) (on, known bool) {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return true, true
	}
	own := map[string]string{v1.LabelHostname: hostname, v1.LabelOSStable: "linux", v1.LabelArchStable: runtime.GOARCH}
	for _, term := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if value, ok := own[e.Key]; !ok || value == "" {
				return false, false
			}
		}
		if len(term.MatchFields) > 0 {
			return false, false
		}
	}
	selector, err := nodeaffinity.NewNodeSelector(v.Spec.NodeAffinity.Required)
	if err != nil {
		return false, false
	}
	return selector.Match(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: hostname, Labels: own}}), true
}

func describeSource(source v1.PersistentVolumeSource) string {
	switch {
	case source.NFS != nil:
		return "an NFS export"
	case source.CSI != nil:
		return "a volume of the CSI driver " + source.CSI.Driver
	}
	return "of a kind for which podctl has no plugin"
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func sortedByName[T any](of map[types.NamespacedName]T) []T {
	keys := slices.SortedFunc(maps.Keys(of), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	all := make([]T, 0, len(keys))
	for _, key := range keys {
		all = append(all, of[key])
	}
	return all
}
