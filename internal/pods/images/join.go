package images

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Image is an image and its users.
type Image struct {
	pod.Image
	// Uses are in the order of the pods' names.
	Uses []Use
	// Unread are the containers that may mount the image.
	Unread []Unread
}

// Unread is a container whose mounts could not be read: it may mount any image.
type Unread struct {
	Use
	UID types.UID // of the pod
	Err error     // why
}

// Use is one reason for which an image is in use.
type Use struct {
	// Namespace and Pod are "" for a container of another client of containerd.
	Namespace, Pod string
	// Container is the container's name, "" if the image is only named by the pod's
	// spec.
	Container string
	// ID is the container's, State its state; without a container "" and Unknown.
	ID    string
	State pod.State
	// Volume: the container mounts the image, or the spec names it as a volume.
	Volume bool
}

// User is the pod, NAMESPACE/POD, or a container of no pod.
func (u Use) User() string {
	if u.Pod == "" {
		return "container " + pod.ShortID(u.ID)
	}
	return pod.DisplayName(u.Namespace, u.Pod)
}

// DisplayName is NAMESPACE/POD, with /CONTAINER if there is one.
func (u Use) DisplayName() string {
	if u.Pod == "" {
		return u.User()
	}
	name := pod.DisplayName(u.Namespace, u.Pod)
	if u.Container != "" {
		name += "/" + u.Container
	}
	return name
}

// Unused reports whether nothing uses the image or may use it, and the runtime does not
// ask to keep it.
func (i *Image) Unused() bool { return len(i.Uses) == 0 && len(i.Unread) == 0 && !i.Pinned }

// MayBeUnused reports whether the image is in use only if a container of Unread mounts it.
func (i *Image) MayBeUnused() bool { return len(i.Uses) == 0 && len(i.Unread) > 0 && !i.Pinned }

// Name returns the first name of the image, its id if it has none.
func (i *Image) Name() string {
	for _, names := range [...][]string{i.RepoTags, i.RepoDigests} {
		if len(names) > 0 {
			return names[0]
		}
	}
	return i.ID
}

// named reports whether a name, a digest or an id is that of the image.
func (i *Image) named(name string) bool {
	return i.ID == name || strings.TrimPrefix(i.ID, "sha256:") == name || slices.Contains(i.RepoTags, name) || slices.Contains(i.RepoDigests, name)
}

// Join returns the images that the runtime holds, by name, each with the containers
// that are made of it or mount it. mounted are the images that containers mount, by
// container id.
func Join(held []*pod.Image, pods []*pod.Pod, mounted map[string][]string) []*Image {
	all := make([]*Image, 0, len(held))
	for _, h := range held {
		i := &Image{Image: *h}
		i.RepoTags, i.RepoDigests = slices.Sorted(slices.Values(h.RepoTags)), slices.Sorted(slices.Values(h.RepoDigests))
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b *Image) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.ID, b.ID))
	})
	byName := index(all)
	for _, p := range pods {
		for _, c := range p.Containers {
			use := useOf(p, c)
			if byName[c.ImageID] != nil {
				byName.addUse(use, c.ImageID)
			} else {
				byName.addUse(use, c.Image) // its tag may be another image's by now
			}
			use.Volume = true
			byName.addUse(use, mounted[c.ID]...)
		}
	}
	sortUses(all)
	return all
}

func useOf(p *pod.Pod, c *pod.Container) Use {
	return Use{Namespace: p.Namespace, Pod: p.Name, Container: c.Name, ID: c.ID, State: c.State}
}

// AddUnread adds the containers whose mounts could not be read to every image, and returns
// them. Those of pods whose spec is known to name no image volume mount none. specOf returns
// nil for a pod whose spec is not known.
func AddUnread(all []*Image, unread []Unread, specOf func(types.UID) *v1.Pod) []Unread {
	unread = slices.DeleteFunc(slices.Clone(unread), func(u Unread) bool {
		spec := specOf(u.UID)
		return spec != nil && !slices.ContainsFunc(spec.Spec.Volumes, func(v v1.Volume) bool { return v.Image != nil })
	})
	for _, i := range all {
		i.Unread = unread
	}
	return unread
}

// AddSpecs adds the pods whose specs name an image, unless a container of theirs uses
// it.
func AddSpecs(all []*Image, specs []*v1.Pod) {
	byName := index(all)
	for _, p := range specs {
		use := Use{Namespace: p.Namespace, Pod: p.Name}
		for c := range pod.Containers(p) {
			byName.addUse(use, fullName(c.Image))
		}
		use.Volume = true
		for _, v := range p.Spec.Volumes {
			if v.Image != nil {
				byName.addUse(use, fullName(v.Image.Reference))
			}
		}
	}
	sortUses(all)
}

func sortUses(all []*Image) {
	for _, i := range all {
		slices.SortStableFunc(i.Uses, func(a, b Use) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.Container, b.Container))
		})
	}
}

// byName finds an image by any of its names.
type byName map[string]*Image

func index(all []*Image) byName {
	names := byName{}
	for _, i := range all {
		names[i.ID], names[strings.TrimPrefix(i.ID, "sha256:")] = i, i
		for _, n := range [...][]string{i.RepoTags, i.RepoDigests} {
			for _, name := range n {
				names[name] = i
			}
		}
	}
	return names
}

// addUse adds a use to the images of the names, once to each.
func (b byName) addUse(u Use, names ...string) {
	seen := map[*Image]bool{}
	for _, name := range names {
		i := b[name]
		if i == nil || seen[i] || u.Container == "" && slices.ContainsFunc(i.Uses, func(other Use) bool { return other.Namespace == u.Namespace && other.Pod == u.Pod }) {
			continue
		}
		seen[i] = true
		i.Uses = append(i.Uses, u)
	}
}
