package owners

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// sourceIndex indexes the pods that the sources name which answered.
type sourceIndex struct {
	// byUID maps a pod to the source that names it, podctls to the podctl process that
	// desires it: what podctl did not create is not that pod, though it has the UID.
	byUID, podctls map[types.UID]string
	// byName maps a full name to the pods that are named so.
	byName map[string][]namedPod
	// withoutUID maps a full name to a source that does not know the pod's UID.
	withoutUID map[string]string
	// generatedUID is the same for pods whose UID podctl generated: only pods that podctl
	// created carry it.
	generatedUID map[string]string
	// kubelet has the pods that the kubelet names.
	kubelet map[types.UID]bool
}

// namedPod is a pod that a source names.
type namedPod struct {
	uid    types.UID
	source string
}

// indexSources indexes the sources, the kubelet, and what podctl processes desire:
// rejected pods are part of it, because they reserve their names.
func indexSources(a *Answers) sourceIndex {
	x := sourceIndex{
		byUID: map[types.UID]string{}, podctls: map[types.UID]string{}, byName: map[string][]namedPod{}, withoutUID: map[string]string{}, generatedUID: map[string]string{}, kubelet: map[types.UID]bool{},
	}
	add := func(by map[types.UID]string, uid types.UID, name, source string) {
		by[uid] = source
		x.byName[name] = append(x.byName[name], namedPod{uid: uid, source: source})
	}
	for _, process := range a.Processes {
		for _, w := range process.Workers {
			if w.Desired && !process.Elsewhere {
				add(x.podctls, w.UID, pod.FullName(w.Name, w.Namespace), process.Name)
			}
		}
	}
	for _, p := range a.Kubelet.Pods {
		add(x.byUID, p.UID, pod.FullNameOf(p), a.Kubelet.Source)
		x.kubelet[p.UID] = true
	}
	for _, s := range a.Sources {
		for _, p := range s.Pods {
			name := pod.FullNameOf(p)
			if s.ByName || p.UID == "" {
				x.withoutUID[name] = s.Source
				continue
			}
			add(x.byUID, p.UID, name, s.Source)
			if s.MadeUp[p.UID] {
				x.generatedUID[name] = s.Source
			}
		}
	}
	return x
}

// by returns the source that names a pod, "" if none does, and whether by its UID. A pod
// that podctl did not create is named by its name alone where its UID cannot be known.
func (x sourceIndex) by(uid types.UID, fullName string, creator CreatorEvidence) (source string, byUID bool) {
	if mayBePodctls(creator) {
		source = x.podctls[uid]
	}
	if source = cmp.Or(source, x.byUID[uid]); source != "" {
		return source, true
	}
	source = x.withoutUID[fullName]
	if creator != CreatedByPodctl {
		source = cmp.Or(source, x.generatedUID[fullName])
	}
	return source, false
}

// rival returns the pod of another UID that is named so.
func (x sourceIndex) rival(uid types.UID, fullName string) (namedPod, bool) {
	i := slices.IndexFunc(x.byName[fullName], func(p namedPod) bool { return p.uid != uid })
	if i < 0 || strings.HasPrefix(fullName, "_") {
		return namedPod{}, false
	}
	return x.byName[fullName][i], true
}
